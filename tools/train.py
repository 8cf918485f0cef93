"""Train a detector or a segmentor.

  python tools/train.py configs/mask_rcnn_swin_t.py --data-root DIR
  torchrun --nproc-per-node 8 tools/train.py configs/mask_rcnn_swin_t.py --launcher pytorch

Without data and weights, offline:

  python tools/make_scenes.py data/scenes --images 1000 --seed 0
  python tools/train.py configs/mask_rcnn_swin_t.py --data-root data/scenes --weights none
"""

import sys

from swin_mm.engine import ToolParser, run_tool, train


def main() -> None:
    """Parse the command line and train."""
    parser = ToolParser(__doc__)
    parser.add_argument("config", help="a config file")
    parser.add_run_arguments()
    parser.add_argument(
        "--weights",
        metavar="URL|FILE|none",
        help="what the backbone starts with, in place of the config's weights; the file of a "
        "whole detector or segmentor fills its necks and heads too",
    )
    parser.add_argument(
        "--max-iters",
        type=int,
        metavar="N",
        help="train N iterations, the schedule shrunk in proportion; then validate and save",
    )
    parser.add_argument("--amp", action="store_true", help="mixed precision, on a GPU")
    parser.add_argument(
        "--ema",
        action="store_true",
        help="average the weights over the iterations; validation and checkpoint take the mean",
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const="auto",
        metavar="FILE",
        help="go on from a checkpoint; without FILE from the newest in the work dir",
    )
    parser.add_argument(
        "--auto-scale-lr",
        action="store_true",
        help="scale the learning rate by this run's batch over the recipe's",
    )
    parser.add_argument("--seed", type=int, help="of all random numbers (default: drawn, logged)")
    parser.add_argument(
        "--no-check",
        dest="check",
        action="store_false",
        help="do not look at the data first: every record, and 64 pictures of each set",
    )
    parser.add_argument(
        "--skip-broken",
        action="store_true",
        help="leave out of the training what cannot be loaded; it is counted and named",
    )
    train(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(run_tool(main))
