"""Print the tables of README.md, benchmarks/README.md and docs/compile.md, and draw the first.

python benchmarks/print_backbone.py            prints the pages' parts
python benchmarks/print_backbone.py --write    puts them into the pages, and the picture beside

Without results the README says nothing of speed, and there is no picture.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.plot import draw, mark_of, save
from bench.tables import (
    FILES,
    Book,
    compiled_table,
    full_table,
    read,
    said_machine,
    said_runs,
    short_table,
    unable,
)

ROOT = Path(__file__).parents[1]
RESULTS = Path("benchmarks/results")
PICTURE = Path("docs/pictures/speed.png")
AVX2 = RESULTS / "avx2"
BOOK, FULL, COMPILING = Path("README.md"), Path("benchmarks/README.md"), Path("docs/compile.md")


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

How it is measured, all other figures, and those of a processor with AVX2 alone:
[benchmarks/README.md]({FULL})."""


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


def other_part(book: Book) -> str:
    """The runs on a second machine, and Swin-T there."""
    if not book.entries:
        return "Not measured yet."
    return f"{said_runs(book)}\n\n{short_table(book)}"


def compiled_part(book: Book) -> str:
    """What compiling takes and brings, and where that was measured."""
    runs = [run for run in book.runs.get(FILES[0], []) if "compiled" in run["command"]]
    if not runs:
        return "Not measured yet."
    return f"Swin-T on {said_machine(runs[-1])}:\n\n{compiled_table(book)}"


class Part(NamedTuple):
    """A part of a page, between two marks, that is printed from results.

    Attributes:
        page: the page.
        name: in the marks.
        folder: of the results.
        text: makes the part.
    """

    page: Path
    name: str
    folder: Path
    text: Callable[[Book], str]

    @property
    def mark(self) -> str:
        return f"<!-- {self.name} -->"

    def fill(self, text: str, book: Book) -> str:
        """Put the part into the text of its page."""
        body = f"{self.mark}\n{self.text(book)}\n{self.mark}"
        return re.sub(f"{self.mark}.*?{self.mark}", lambda _: body, text, flags=re.S)


PARTS = (
    Part(BOOK, "speed", RESULTS, short_part),
    Part(FULL, "backbone", RESULTS, full_part),
    Part(FULL, "backbone, avx2", AVX2, other_part),
    Part(COMPILING, "backbone, compiled", AVX2, compiled_part),
)


def main() -> None:
    """Print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT, help="another folder with the pages")
    args = parser.parse_args()
    for part in PARTS:
        book = read(args.root / part.folder)
        if args.write:
            file = args.root / part.page
            text = file.read_text(encoding="utf-8")
            file.write_text(part.fill(text, book), encoding="utf-8")
        else:
            print(part.text(book), end="\n\n")
    folder = args.root / RESULTS
    book = read(folder)
    if args.write and book.entries:
        save(draw(book), args.root / PICTURE, mark_of(folder))


if __name__ == "__main__":
    main()
