"""Say what a weight file holds: layout, network, windows, heads, and what would build it."""

import sys

from swin_mm.checkpoints import LAYOUTS, CheckpointError, describe, read_checkpoint
from swin_mm.engine import ToolParser, UsageError, run_tool


def main() -> None:
    """Parse the command line and do it."""
    parser = ToolParser(__doc__)
    parser.add_argument("file", help="path or URL of any known layout, .pth, .safetensors or .pkl")
    parser.add_argument("--layout", choices=LAYOUTS, help="overrule the detection")
    parser.add_argument("--prefix", help="where the backbone is, if the file holds several")
    parser.add_argument("--tensors", action="store_true", help="list every tensor of the backbone")
    parser.add_unsafe()
    args = parser.parse_args()
    try:
        checkpoint = read_checkpoint(args.file, unsafe=args.unsafe)
        description = describe(checkpoint, layout=args.layout, prefix=args.prefix)
    except CheckpointError as error:
        raise UsageError(str(error)) from error
    print(description)
    if args.tensors:
        for name, tensor in description.renamed.tensors.items():
            print(f"{description.renamed.keys[name]} -> {name} {tuple(tensor.shape)}")


if __name__ == "__main__":
    sys.exit(run_tool(main))
