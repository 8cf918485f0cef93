"""Print the tables of README.md and benchmarks/README.md from the results, and draw them.

python benchmarks/print_backbone.py            prints both pages' parts
python benchmarks/print_backbone.py --write    puts them into the pages, and the picture beside

Without results the README says nothing of speed, and there is no picture.
"""

import argparse
import re
from pathlib import Path

from bench.plot import draw, mark_of, save
from bench.tables import FILES, Book, full_table, read, said_machine, said_runs, short_table, unable

ROOT = Path(__file__).parents[1]
RESULTS = Path("benchmarks/results")
PICTURE = Path("docs/pictures/speed.png")
BOOK, FULL = Path("README.md"), Path("benchmarks/README.md")


def short_part(book: Book) -> str:
    """What the README says of speed; nothing before it was measured."""
    table = short_table(book)
    if not table:
        return ""
    run = book.runs[FILES[0]][-1]
    return f"""## Speed

Swin-T on {said_machine(run)}.
Under a name stands its time divided by ours, each pair measured turn by turn with the same weights;
`floor` is our time divided by that of the matrix products alone, `memory` our peak divided by
MMDetection's without its `with_cp`.

{table}

![Time beside other Swins, growth with the picture, and memory]({PICTURE})

How it is measured, and all other figures: [benchmarks/README.md]({FULL})."""


def full_part(book: Book) -> str:
    """Every figure, the runs, and who could not do what."""
    if not book.entries:
        return "Not measured yet."
    cannot = unable(book)
    return "\n\n".join(
        [
            said_runs(book),
            full_table(book),
            *([f"Who could not do what:\n\n{cannot}"] if cannot else []),
        ]
    )


PARTS = {BOOK: ("speed", short_part), FULL: ("backbone", full_part)}
"""The mark of the part of a page, and what prints it."""


def filled(page: Path, text: str, book: Book) -> str:
    """Put a page's part between its marks."""
    name, part = PARTS[page]
    mark = f"<!-- {name} -->"
    body = part(book)
    return re.sub(f"{mark}.*?{mark}", lambda _: f"{mark}\n{body}\n{mark}", text, flags=re.S)


def main() -> None:
    """Print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT, help="another folder with the pages")
    args = parser.parse_args()
    folder = args.root / RESULTS
    book = read(folder)
    if not args.write:
        print("\n\n".join(part(book) for _, part in PARTS.values()))
        return
    for page in PARTS:
        file = args.root / page
        text = file.read_text(encoding="utf-8")
        file.write_text(filled(page, text, book), encoding="utf-8")
    if book.entries:
        save(draw(book), args.root / PICTURE, mark_of(folder))


if __name__ == "__main__":
    main()
