"""Predict on pictures: overlays, label pictures, predictions in COCO's results format.

python tools/infer.py configs/mask_rcnn_swin_t.py CHECKPOINT street.jpg --out found
python tools/infer.py configs/upernet_swin_t.py CHECKPOINT my_photos --out found
"""

import sys

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine import ToolParser, UsageError, run_tool
from swin_mm.engine.options import ConfigOption
from swin_mm.engine.predicting import configure
from swin_mm.inference import (
    InferenceError,
    Predictor,
    find_pictures,
    infer,
    load_model,
    require_room,
)


def main() -> None:
    """Parse the command line and predict."""
    parser = ToolParser(__doc__)
    parser.add_argument("config", help="a config file")
    parser.add_argument("checkpoint", help="a file or URL")
    parser.add_argument(
        "pictures", metavar="PICTURE", nargs="+", help="a file, or a folder of them"
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="where the results go")
    parser.add_argument(
        "--score-thr", type=float, metavar="S", help="draw only instances surer than this (0.3)"
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1 (default: a GPU where it can be used)")
    parser.add_argument("--cfg-options", dest="options", nargs="+", action=ConfigOption,
                        metavar="KEY=VALUE", help="settings of the config")  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace older results of these names")
    parser.add_unsafe()
    args = parser.parse_args()
    try:
        pictures = find_pictures(args.pictures)
        require_room(args.out, force=args.force)
        cfg, device = configure(
            args.config, args.options or {}, device=args.device, unsafe=args.unsafe
        )
        model, meta = load_model(cfg, args.checkpoint, device=device, unsafe=args.unsafe)
        predictor = Predictor(cfg, model, meta)
        outcome = infer(predictor, pictures, out=args.out, score_threshold=args.score_thr)
    except (InferenceError, CheckpointError) as error:
        raise UsageError(str(error)) from error
    print(f"\nPredicted on {outcome.done} of {len(pictures)} pictures.")
    for what, path in outcome.written.items():
        print(f"  {what:<14} {path}")
    if outcome.skipped:
        lines = [f"{len(outcome.skipped)} skipped:", *outcome.skipped]
        print("\n  ".join(lines), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(run_tool(main))
