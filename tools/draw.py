"""Draw how a Swin sees a picture, from the network itself, into a PNG.

python tools/draw.py windows --variant tiny --picture street.jpg --out windows.png
python tools/draw.py attention --checkpoint FILE --picture street.jpg --token 320,200 --out a.png
"""

import sys

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine import ToolParser, UsageError, run_tool
from swin_mm.engine.config import read_config
from swin_mm.visualization import FIGURES, DrawingError, Wish, build_network, draw_figure
from swin_mm.visualization.save import check_out, write_png
from swin_mm.visualization.words import channels, dots, sides, xy

OPTIONS = {
    "picture": dict(metavar="FILE", nargs="+", help="a picture; receptive-field averages several"),
    "size": dict(type=sides, metavar="N|WxH", help="px of its long side, or its width x height"),
    "image_scale": dict(type=float, metavar="F", help="a factor of the picture's size instead"),
    "stage": dict(type=int, help="number of a stage, from 0 on"),
    "block": dict(type=int, help="number of a block of the stage, from 0 on"),
    "head": dict(type=int, help="number of a head, from 0 on"),
    "token": dict(type=xy, metavar="X,Y", help="a point in the token, px of the picture's file"),
    "channels": dict(type=channels, metavar="I,J,...", help="channels to show (default: 3 lively)"),
    "samples": dict(type=int, metavar="N", help="random inputs where there is no picture (8)"),
}


def main() -> None:
    """Parse the command line and draw."""
    parser = ToolParser(__doc__)
    parser.add_argument("figure", choices=FIGURES, help="what to draw")
    parser.add_argument("--out", metavar="FILE.png", required=True, help="where it goes")
    parser.add_argument("--config", help="a config file, whose backbone is drawn")
    parser.add_argument("--checkpoint", "--weights", metavar="FILE|none",
                        help="a backbone or detector, any layout; none: fresh weights")  # fmt: skip
    parser.add_argument("--variant", help="a paper's network: tiny, small, base or large")
    parser.add_argument("--version", type=int, choices=(1, 2), help="of the variant; 2 is SwinV2")
    parser.add_argument("--window", type=int, metavar="N", help="side of its windows, tokens")
    parser.add_argument("--dpi", type=dots, default=100, help="200 doubles both sides (100)")
    parser.add_argument("--force", action="store_true", help="replace an older FILE.png")
    parser.add_unsafe()
    for name, how in OPTIONS.items():
        takers = ", ".join(figure for figure, kind in FIGURES.items() if name in kind.options)
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, **{**how, "help": f"{how['help']} ({takers})"})
    args = parser.parse_args()
    kind = FIGURES[args.figure]
    given = {name: getattr(args, name) for name in OPTIONS if getattr(args, name) is not None}
    for name in given.keys() - set(kind.options):
        takes = ", ".join(f"--{one.replace('_', '-')}" for one in kind.options)
        parser.error(f"{args.figure} has no --{name.replace('_', '-')}; it takes {takes}")
    if args.size is not None and args.image_scale is not None:
        parser.error("give --size or --image-scale, not both")
    if args.config and args.variant:
        parser.error("give --config or --variant, not both")
    if args.version and not args.variant:
        parser.error("--version is that of a --variant, and there is none")
    if kind.shows_weights and args.checkpoint is None:
        parser.error(f"{args.figure} shows weights: --checkpoint FILE, or none for fresh ones")
    try:
        out = check_out(args.out, force=args.force)
        network = build_network(
            model=read_config(args.config, needs=["model.backbone"]).model if args.config else None,
            variant=args.variant,
            version=args.version or 1,
            checkpoint=None if args.checkpoint == "none" else args.checkpoint,
            window=args.window,
            unsafe=args.unsafe,
        )
        wish = Wish(pictures=given.pop("picture", ()), **given)
        write_png(draw_figure(args.figure, network, wish), out, dpi=args.dpi)
    except (DrawingError, CheckpointError) as error:
        raise UsageError(str(error)) from error
    print(f"{out}: {args.figure} of {network}, {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(run_tool(main))
