"""Predict on pictures and videos: overlays, label pictures, predictions in COCO's results format.

python tools/infer.py configs/mask_rcnn_swin_t.py CHECKPOINT street.jpg drive.mp4 --out found
python tools/infer.py configs/upernet_swin_t.py CHECKPOINT my_photos 'more/**/*.jpg' --out found

The same command again goes on where it was stopped.
"""

import sys

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine import ToolParser, UsageError, run_tool
from swin_mm.engine.predicting import configure
from swin_mm.inference import (
    InferenceError,
    Options,
    Predictor,
    find_pictures,
    infer,
    require_room,
)


def main() -> None:
    """Parse the command line and predict."""
    parser = ToolParser(__doc__)
    add = parser.add_argument
    add("config", help="a config file")
    add("checkpoint", help="a file or URL")
    add("inputs", metavar="INPUT", nargs="+", help="a picture, a video, a folder, or a pattern")
    add("--out", metavar="DIR", required=True, help="where the results go")
    add("--score-thr", type=float, metavar="S", help="draw only instances surer than this (0.3)")
    add("--classes", nargs="+", default=(), metavar="NAME", help="keep these classes only")
    add("--batch-size", type=int, default=1, metavar="N", help="pictures, tiles, frames at once")
    add("--tile", type=int, metavar="PX", help="look at pictures with a longer side by tiles of "
        "this side, 0: never (1024 above 2**25 px)")  # fmt: skip
    add("--overlap", type=int, metavar="PX", help="of tiles (a quarter; of segmentors an eighth)")
    add("--overlay-side", type=int, default=4096, metavar="PX", help="longer side of the overlays "
        "of tiled pictures, at most (4096)")  # fmt: skip
    add("--tta", action="store_true", help="merge the config's scales and flips")
    add("--amp", action="store_true", help="run backbone and neck in half precision")
    add("--compile", action="store_true", help="run the backbone through torch's compiler")
    add("--device", help="cpu, cuda, cuda:1 (default: a GPU where it can be used)")
    parser.add_config_options()
    add("--force", action="store_true", help="begin anew, and replace what lies in --out")
    parser.add_unsafe()
    args = parser.parse_args()
    try:
        names = vars(Options()).keys() - {"score_threshold", "classes"}
        options = Options(
            score_threshold=args.score_thr,
            classes=tuple(args.classes),
            **{name: getattr(args, name) for name in names},
        )
        pictures = find_pictures(args.inputs, out=args.out)
        require_room(args.out, force=args.force)
        cfg, device = configure(
            args.config, args.options or {}, device=args.device, unsafe=args.unsafe
        )
        predictor = Predictor.load(
            cfg, args.checkpoint, device=device, options=options, unsafe=args.unsafe
        )
        outcome = infer(predictor, pictures, out=args.out, options=options, sources=args.inputs,
                        force=args.force)  # fmt: skip
    except (InferenceError, CheckpointError) as error:
        raise UsageError(str(error)) from error
    before = f" ({outcome.before} of them before)" if outcome.before else ""
    print(f"\nPredicted on {outcome.done} of {len(pictures)} pictures{before}.")
    for what, told in outcome.summary().items():
        print(f"  {what:<14} {told}")
    if outcome.skipped:
        lines = [f"{len(outcome.skipped)} skipped:", *outcome.skipped]
        print("\n  ".join(lines), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(run_tool(main))
