"""Test a checkpoint: metrics, and on request pictures and predictions.

python tools/test.py configs/mask_rcnn_swin_t.py CHECKPOINT --data-root DIR
python tools/test.py configs/upernet_swin_t.py CHECKPOINT --show-dir pictures --out found.json
"""

import sys

from swin_mm.engine import ToolParser, run_tool, test


def main() -> None:
    """Parse the command line and test."""
    parser = ToolParser(__doc__)
    parser.add_argument("config", help="a config file")
    parser.add_argument("checkpoint", help="a file or URL")
    parser.add_run_arguments(work_dir="work_dirs/CONFIG/test")
    parser.add_argument(
        "--tta", action="store_true", help="average over the config's scales and flips"
    )
    parser.add_argument(
        "--show-dir", metavar="DIR", help="draw every picture here, truth beside prediction"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write predictions: .json in COCO's results format, .pkl with everything",
    )
    parser.add_argument("--force", action="store_true", help="replace an older FILE")
    test(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(run_tool(main))
