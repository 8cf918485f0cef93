"""Write an offline world of scenes, in COCO's layout and in ADE20K's, for every config."""

import argparse
import os
import shlex
import sys

from swin_mm.data import write_scenes
from swin_mm.progress import Bars


def size(text: str) -> tuple[int, int]:
    """Read a size such as 320x240."""
    try:
        width, height = (int(side) for side in text.lower().split("x"))
    except ValueError:
        rule = f"A size is WIDTHxHEIGHT in px, such as 320x240, not {text!r}."
        raise argparse.ArgumentTypeError(rule) from None
    return width, height


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", metavar="OUT", help="folder to write; the configs' --data-root")
    parser.add_argument(
        "--images", type=int, default=1000, metavar="N", help="pictures to learn from (1000)"
    )
    parser.add_argument(
        "--val", type=int, metavar="N", help="held-out pictures (a tenth of --images)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the world (0)")
    parser.add_argument(
        "--size", type=size, default=(320, 240), metavar="WxH", help="of pictures, px (320x240)"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="processes (the cores, one for each 300 pictures)"
    )
    parser.add_argument("--force", action="store_true", help="replace scenes written before")
    return parser.parse_args()


def main() -> int:
    args = parse_arguments()
    val = max(1, args.images // 10) if args.val is None else args.val
    cores = min(os.cpu_count() or 1, max(1, (args.images + val) // 300))
    try:
        made = write_scenes(
            args.out,
            train=args.images,
            val=val,
            seed=args.seed,
            size=args.size,
            jobs=cores if args.jobs is None else args.jobs,
            force=args.force,
            bars=Bars,
        )
    except (ValueError, OSError) as error:
        print(f"make_scenes: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("make_scenes: stopped; nothing was written.", file=sys.stderr)
        return 130
    print(f"{made.train} + {made.val} scenes: {made.root}")
    print(f"to look at: {made.contact_sheet}")
    command = "python tools/train.py configs/mask_rcnn_swin_t.py --weights none --data-root"
    print(f"next: {command} {shlex.quote(str(made.root))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
