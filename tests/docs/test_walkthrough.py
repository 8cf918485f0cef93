import doctest
import re
import runpy
from pathlib import Path

import pytest
from PIL import Image


@pytest.fixture(scope="module")
def page(root: Path) -> Path:
    return root / "docs/walkthrough.md"


def test_every_example_says_what_happens(page):
    options = doctest.REPORT_ONLY_FIRST_FAILURE
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=options)
    assert failed == 0
    assert tried == page.read_text(encoding="utf-8").count("\n>>> ")


def test_every_section_of_the_contents_exists(page):
    text = page.read_text(encoding="utf-8")
    linked = re.findall(r"\]\(#(.+?)\)", text)
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
    assert linked == anchors[:-1]  # all but the sources


def test_every_picture_is_shown_and_light_enough(root, page):
    pictures = {f"pictures/{path.name}": path for path in (root / "docs/pictures").glob("*.png")}
    pictures.pop("pictures/speed.png", None)  # the README's, drawn from results
    # Those of drawing.md have their own test.
    pictures = {name: path for name, path in pictures.items() if "/draw_" not in name}
    shown = re.findall(r"!\[.+\]\((.+?)\)", page.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(pictures)
    sizes = [path.stat().st_size for path in pictures.values()]
    assert max(sizes) < 150_000
    assert sum(sizes) < 900_000


def test_the_pictures_are_those_that_the_code_draws(root):
    drawn = runpy.run_path(str(root / "tools/draw_walkthrough.py"))["draw_all"]()
    assert {f"{name}.png" for name in drawn} == {
        path.name
        for path in (root / "docs/pictures").iterdir()
        if not path.name.startswith("draw_")
    } - {"speed.png"}
    for name, figure in drawn.items():
        with Image.open(root / f"docs/pictures/{name}.png") as picture:
            width, height = (100 * side for side in figure.get_size_inches())
            assert picture.size == (int(width), int(height)), f"draw {name} again"
