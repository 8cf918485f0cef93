"""Check the pictures and annotations of a config, before a training stumbles over them.

  python tools/check_data.py configs/mask_rcnn_swin_t.py --data-root DIR
  python tools/check_data.py configs/upernet_swin_t.py --split train --sample 2000

Exit code 0 if the data has no errors, 1 if it has, 2 if it could not be checked.
"""

import argparse
import os
import sys

from swin_mm.checking import SPLITS, DataError, check_data, print_report, write_json
from swin_mm.engine import ToolParser, UsageError, run_tool
from swin_mm.engine.config import import_host, read_config
from swin_mm.engine.datasets import point_data_at
from swin_mm.engine.notes import Notes
from swin_mm.engine.options import merge_options


def number(text: str) -> int:
    """Read a count."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 on, got {text}")
    return int(text)


def main() -> None:
    """Parse the command line, check and report."""
    parser = ToolParser(__doc__)
    parser.add_argument("config", help="a config file")
    parser.add_argument("--data-root", metavar="DIR", help="read every data set from this folder")
    parser.add_argument(
        "--split",
        nargs="+",
        choices=SPLITS,
        metavar="SPLIT",
        help="of train, val and test (default: all that the config has)",
    )
    parser.add_argument(
        "--sample",
        type=number,
        metavar="N",
        help="open N pictures of each data set only; every record is checked all the same",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--json", metavar="FILE", help="write what was found here too")
    parser.add_argument(
        "--workers", type=number, metavar="N", help="processes that read (one a core, 16 at most)"
    )
    parser.add_config_options()
    args = parser.parse_args()
    if args.json and not os.path.isdir(os.path.dirname(args.json) or "."):
        raise UsageError(f"--json: there is no folder {os.path.dirname(args.json)}")
    cfg, notes = read_config(args.config), Notes()
    merge_options(cfg, args.options or {}, notes)
    has = [split for split in SPLITS if cfg.get(f"{split}_dataloader")]
    splits = args.split or has or SPLITS  # one without data is refused
    if args.data_root is not None:
        point_data_at(cfg, args.data_root, splits, notes)
    import_host(cfg)
    try:
        findings = check_data(cfg, splits=splits, sample=args.sample, seed=args.seed,
                              workers=args.workers, progress=True)  # fmt: skip
    except DataError as error:
        raise UsageError(str(error)) from error
    print_report(findings)
    if args.json:
        write_json(findings, args.json)
    sys.exit(1 if any(found.errors for found in findings) else 0)


if __name__ == "__main__":
    sys.exit(run_tool(main))
