"""Rewrite a weight file of any known layout in another one."""

import sys
from pathlib import Path

from swin_mm.checkpoints import (
    LAYOUTS,
    TARGETS,
    CheckpointError,
    convert,
    read_checkpoint,
    save_checkpoint,
)
from swin_mm.engine import ToolParser, UsageError, run_tool


def window(text: str) -> list[tuple[int, int]] | tuple[int, int]:
    """Read 12, or 7x14 for height and width, or one of these a stage: 16,16,16,8."""
    windows = []
    for one in text.lower().split(","):
        sides = [int(side) for side in one.split("x")]
        if len(sides) > 2:
            raise ValueError(text)
        windows.append((sides[0], sides[-1]))
    return windows[0] if len(windows) == 1 else windows


def main() -> None:
    """Parse the command line and do it."""
    parser = ToolParser(__doc__)
    parser.add_argument("file", help="path or URL of any known layout, .pth, .safetensors or .pkl")
    parser.add_argument("out", type=Path, help="the ending .safetensors or .pkl chooses the format")
    parser.add_argument("--to", required=True, choices=TARGETS, help="the layout to write")
    parser.add_argument(
        "--window", type=window, help="other windows, tokens: 12, 7x14 or 16,16,16,8"
    )
    parser.add_argument(
        "--pretrained-window",
        type=window,
        help="windows that a SwinV2 was pretrained with, where FILE does not say",
    )
    parser.add_argument("--in-channels", type=int, help="channels of the pictures it is to take")
    parser.add_argument("--resize-bias", choices=("bicubic", "geometric"), default="bicubic")
    parser.add_argument("--allow-loss", action="store_true", help="leave out what has no place")
    parser.add_argument("--force", action="store_true", help="overwrite OUT")
    parser.add_argument("--layout", choices=LAYOUTS, help="overrule the detection of FILE's layout")
    parser.add_argument("--prefix", help="where the backbone is, if FILE holds several")
    parser.add_unsafe()
    args = parser.parse_args()
    try:
        if args.out.exists() and not args.force:
            raise CheckpointError(f"{args.out} is there already. Name another, or pass --force")
        done = convert(
            read_checkpoint(args.file, unsafe=args.unsafe),
            args.to,
            layout=args.layout,
            prefix=args.prefix,
            window=args.window,
            pretrained_window=args.pretrained_window,
            in_channels=args.in_channels,
            resize_bias=args.resize_bias,
            allow_loss=args.allow_loss,
        )
        flat = args.out.suffix in (".safetensors", ".pkl")  # these hold tensors alone
        save_checkpoint(done.tensors if flat else done.content, args.out)
    except CheckpointError as error:
        raise UsageError(str(error)) from error
    for lost in done.lost:
        print(f"lost: {lost}")
    for note in done.notes:
        print(f"note: {note}")
    was = f"{done.source.layout.name} (SwinV{done.source.layout.version})"
    print(f"{was} -> {args.to}: {len(done.tensors)} tensors in {args.out}")


if __name__ == "__main__":
    sys.exit(run_tool(main))
