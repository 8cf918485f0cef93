"""Export a backbone, a backbone with its neck, or a whole segmentor, for pictures of any size.

python tools/export.py configs/mask_rcnn_swin_t.py CHECKPOINT --to onnx --part neck
python tools/export.py configs/upernet_swin_t.py CHECKPOINT --to openvino --part model --out net.xml
"""

import sys
from pathlib import Path

from rich.console import Console

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine import ToolParser, UsageError, run_tool
from swin_mm.engine.predicting import configure
from swin_mm.export import (
    PARTS,
    SUFFIXES,
    TARGETS,
    ExportError,
    MismatchError,
    export,
    load_part,
)


def size(text: str) -> tuple[int, int]:
    """Read 800x1344, height and width."""
    height, width = text.lower().split("x")
    return int(height), int(width)


def main() -> None:
    """Parse the command line and export."""
    parser = ToolParser(__doc__)
    parser.add_argument("config", help="a config file")
    parser.add_argument("checkpoint", help="a file or URL; none for random weights")
    parser.add_argument("--to", required=True, choices=TARGETS, help="the format")
    parser.add_argument("--part", choices=PARTS, default="backbone", help="what (the backbone)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: CONFIG_PART, here")
    parser.add_argument("--opset", type=int, metavar="N", help="ONNX's operators, 18 to 23 (18)")
    parser.add_argument(
        "--image-size", type=size, metavar="HxW", help="compare at pictures of this size too, px"
    )
    parser.add_config_options()
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    parser.add_unsafe()
    args = parser.parse_args()
    out = args.out or Path(f"{Path(args.config).stem}_{args.part}{SUFFIXES[args.to]}")
    checkpoint = None if args.checkpoint == "none" else args.checkpoint
    console = Console(width=None if sys.stdout.isatty() else 100)
    try:
        cfg, _ = configure(args.config, args.options or {}, device="cpu", unsafe=args.unsafe)
        network, description = load_part(cfg, checkpoint, args.part, unsafe=args.unsafe)
        done = export(network, out, to=args.to, description=description, opset=args.opset,
                      image_size=args.image_size, force=args.force, tell=print)  # fmt: skip
    except MismatchError as error:
        console.print(error.comparison.table())
        raise UsageError(str(error)) from error
    except (ExportError, CheckpointError) as error:
        raise UsageError(str(error)) from error
    console.print(done.comparison.table())
    taken = "pixels, 0 to 255" if description.normalises else "normalised pictures"
    print(f"Input: {description.input} (batch, channels, height, width), {taken}")
    print(f"Outputs: {', '.join(description.outputs)}")
    for file in done.files:
        print(f"Wrote {file}, {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(run_tool(main))
