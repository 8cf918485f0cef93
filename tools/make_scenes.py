"""Write an offline world of scenes, in COCO's layout and in ADE20K's, for every config."""

import argparse
import os
import shlex
import sys

from swin_mm.data import write_scenes


def size(text: str) -> tuple[int, int]:
    """Read '320x240'."""
    width, _, height = text.lower().partition("x")
    return int(width), int(height)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", metavar="OUT", help="folder to write; --data-root of the configs")
    parser.add_argument(
        "--images", type=int, default=1000, metavar="N", help="pictures to learn from (1000)"
    )
    parser.add_argument(
        "--val", type=int, metavar="N", help="held-out pictures (a tenth of --images)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the world (0)")
    parser.add_argument("--size", type=size, default=(320, 240), metavar="WxH", help="px (320x240)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes (all cores)"
    )
    parser.add_argument("--force", action="store_true", help="replace scenes written before")
    return parser.parse_args()


def main() -> int:
    args = parse_arguments()
    try:
        made = write_scenes(
            args.out,
            train=args.images,
            val=max(1, args.images // 10) if args.val is None else args.val,
            seed=args.seed,
            size=args.size,
            jobs=args.jobs,
            force=args.force,
            progress=True,
        )
    except (ValueError, OSError) as error:
        print(f"make_scenes: {error}", file=sys.stderr)
        return 2
    print(f"{made.train} + {made.val} scenes: {made.root}")
    print(f"to look at: {made.contact_sheet}")
    command = "python tools/train.py configs/mask_rcnn_swin_t.py --weights none --data-root"
    print(f"next: {command} {shlex.quote(str(made.root))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
