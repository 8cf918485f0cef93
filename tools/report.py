"""Write one HTML page of a run: curves, figures by class, confusions, pictures, config, speed.

python tools/report.py work_dirs/mask_rcnn_swin_t --data-root DIR
python tools/report.py work_dirs/upernet_swin_t --no-predict --out upernet.html
"""

import argparse
import os
import sys

from swin_mm.engine import ToolParser, UsageError, run_tool
from swin_mm.engine.errors import command
from swin_mm.reporting import MOST_SAMPLES, Wishes, make_page, require_room, require_run, write_page

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def samples(text: str) -> int:
    """Read a number of pictures."""
    if not text.isdigit() or int(text) > MOST_SAMPLES:
        raise argparse.ArgumentTypeError(f"must be 0 to {MOST_SAMPLES}, got {text}")
    return int(text)


def main() -> None:
    """Parse the command line and write the page."""
    parser = ToolParser(__doc__)
    parser.add_argument("work_dir", help="what tools/train.py wrote, or MMEngine's own")
    parser.add_argument("--out", metavar="FILE", help="the page (default: WORK_DIR/report.html)")
    parser.add_argument(
        "--checkpoint", metavar="FILE", help="what predicts (default: the newest in WORK_DIR)"
    )
    parser.add_argument("--data-root", metavar="DIR", help="read the test data from here")
    parser.add_argument(
        "--predictions",
        metavar="FILE",
        help="take predictions that tools/test.py --out FILE.json wrote, and predict none",
    )
    parser.add_argument("--samples", type=samples, default=12, metavar="N", help="pictures (12)")
    parser.add_argument("--no-predict", action="store_true", help="only what the run logged")
    parser.add_argument(
        "--configs", metavar="DIR", help="where the config that the run began with lies (configs)"
    )
    parser.add_argument("--force", action="store_true", help="replace a page of this name")
    parser.add_unsafe()
    args = parser.parse_args()
    if args.no_predict and (args.checkpoint or args.predictions or args.data_root):
        raise UsageError(
            "--no-predict goes with neither --checkpoint, --predictions nor --data-root"
        )
    if args.checkpoint and args.predictions:
        raise UsageError("--checkpoint predicts anew, --predictions does not: give one of them")
    out = args.out or os.path.join(args.work_dir, "report.html")
    require_run(args.work_dir)
    require_room(out, force=args.force)
    again = [args.work_dir, *(["--out", args.out] if args.out else []), "--force"]
    wishes = Wishes(
        checkpoint=args.checkpoint,
        data_root=args.data_root,
        predictions=args.predictions,
        predict=not args.no_predict,
        samples=args.samples,
        unsafe=args.unsafe,
        commands={
            "predict": command("report.py", *again),
            "data": command("report.py", *again, "--data-root", "DIR"),
            "checkpoint": command("report.py", *again, "--checkpoint", "FILE"),
        },
    )
    usual = ["configs", os.path.join(REPOSITORY, "configs"), "."]
    configs = [args.configs] if args.configs else usual
    write_page(make_page(args.work_dir, wishes, configs=configs), out)
    print(f"Wrote {out}, {os.path.getsize(out) / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(run_tool(main))
