import dataclasses

from swin_mm.checkpoints import Dropped, LoadReport, Resized

REPORT = LoadReport(
    layout="microsoft",
    version=1,
    container="model",
    prefix="encoder.",
    loaded=("a.weight", "b.table", "c.table"),
    resized=tuple(
        Resized(name, (169, 3), (529, 3), "window 7x7 -> 12x12") for name in ("b.table", "c.table")
    ),
    reordered=("a.weight",),
    dropped=(
        Dropped("head.weight", "not used by a backbone", True),
        Dropped("absolute_pos_embed", "the model has none", False),
    ),
    new=("norm0.weight", "norm0.bias"),
    missing=("a.bias",),
)


def test_the_line_says_all_that_matters():
    assert str(REPORT) == (
        "layout microsoft in 'model' under 'encoder.': 3 tensors loaded, 1 reordered, "
        "2 resized (window 7x7 -> 12x12); new: norm0; missing: a; "
        "dropped: absolute_pos_embed (the model has none)"
    )


def test_harmless_leftovers_are_no_surprise():
    assert [dropped.name for dropped in REPORT.surprises] == ["absolute_pos_embed"]


def test_the_table_has_a_line_for_every_tensor():
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in REPORT.table().splitlines()}
    assert lines == {
        "a.weight": "reordered",
        "b.table": "resized: 169x3 -> 529x3, window 7x7 -> 12x12",
        "c.table": "resized: 169x3 -> 529x3, window 7x7 -> 12x12",
        "norm0.weight": "new, keeps its first values",
        "norm0.bias": "new, keeps its first values",
        "a.bias": "missing, keeps its first values",
        "head.weight": "dropped: not used by a backbone",
        "absolute_pos_embed": "dropped: the model has none",
    }


def test_what_was_assumed_ends_the_line():
    report = dataclasses.replace(REPORT, assumed="taken as 7x7")
    assert str(report).endswith("; taken as 7x7")
