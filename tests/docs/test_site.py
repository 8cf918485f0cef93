"""The pages build into a site without a warning, and no link of the repository leads nowhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
FILES = [
    *PAGES,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
]
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")


def prose(file: Path) -> str:
    """A page without its code: what looks like a link there is none."""
    text = re.sub(r"^(```|~~~).*?^\1$", "", file.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]+`", "``", text)


def anchors(file: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    found: dict[str, int] = {}
    text = re.sub(r"^```.*?^```$", "", file.read_text(encoding="utf-8"), flags=re.M | re.S)
    for title in re.findall(r"^#+ (.+?)\s*#*$", text, re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{n}" if n else slug for slug, most in found.items() for n in range(most + 1)}


def broken(file: Path) -> list[str]:
    """The local links of a page that lead nowhere."""
    lost = []
    for link in LINK.findall(prose(file)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        inside = target.is_relative_to(ROOT) and target.exists()
        if not inside or (anchor and (target.suffix != ".md" or anchor not in anchors(target))):
            lost.append(link)
    return lost


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_local_link_and_anchor_exists(file):
    assert broken(file) == []


def test_a_broken_link_is_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(broken.__globals__, "ROOT", tmp_path)
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# One `two`, three!\n## One\n## One\n```\n# none\n```\n")
    good = "[a](other.md#one-two-three) [b](other.md#one-1) [c](https://nowhere) `[d](gone.md)`"
    page.write_text(f"# Here\n{good} [e](#here)\n")
    assert broken(page) == []
    page.write_text("[a](gone.md) [b](other.md#none) [c](#gone) ![d](gone.png) [e](../up.md)\n")
    assert broken(page) == ["gone.md", "other.md#none", "#gone", "gone.png", "../up.md"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_the_site_builds_without_a_warning(tmp_path, capsys):
    for library in ("furo", "myst_parser"):  # pinned for Python 3.11 and later
        pytest.importorskip(library)
    from sphinx.cmd.build import build_main

    options = ["-q", "-W", "--keep-going", "-n", "-b", "html", "-d", str(tmp_path / "doctrees")]
    code = build_main([*options, str(ROOT / "docs"), str(tmp_path / "html")])
    assert code == 0, capsys.readouterr().err
    built = {page.stem for page in (tmp_path / "html").glob("*.html")}
    assert {page.stem for page in PAGES} <= built
    api = (tmp_path / "html/api.html").read_text(encoding="utf-8")
    for name in ("SwinTransformerV2", "load_pretrained", "window_attention", "mask_padding"):
        assert name in api
    # Links out of the site have become words; those within it lead to pages.
    limits = (tmp_path / "html/limits.html").read_text(encoding="utf-8")
    assert "README.md#" not in limits and 'href="export.html#limits"' in limits


def test_every_page_is_in_the_index():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    listed = [line for block in re.findall(r"toctree}\n(.*?)```", index, re.S)
              for line in block.split() if not line.startswith(":")]  # fmt: skip
    pages = {page.stem for page in PAGES} - {"index"}
    assert pages <= set(listed)
    assert len(listed) - len(set(listed)) == 0
    linked = set(re.findall(r"\((\w+)\.md\)", index))
    assert pages - linked == {"optimizer", "attention", "compile", "api"}  # from other pages
