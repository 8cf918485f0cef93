from swin_mm.checkpoints.formats import Layout, Row
from swin_mm.checkpoints.formats.layout import (
    our_names,
    place_in_ours,
    place_in_theirs,
    same,
    their_names,
)

PARTS = Row(("part.{i}.q.{t}", "part.{i}.k.{t}"), "stages.{i}.qk.{t}")
LAYOUT = Layout(
    name="made-up",
    version=1,
    rows=(
        Row("part.{i}.unit.{j}.lin.{t}", "stages.{i}.blocks.{j}.proj.{t}"),
        PARTS,
        Row("finish.{t}", "norm{last}.{t}", writes=False),
        Row("end.{t}", "norm{last}.{t}"),
    ),
    signature="part.{i}.unit.{j}.lin.weight",
)


def ours(key, last=3):
    place = place_in_ours(LAYOUT, key, last)
    return place and our_names(place.row, dict(place.fields), last)


def theirs(name, last=3):
    place = place_in_theirs(LAYOUT, name, last)
    return place and their_names(place.row, dict(place.fields), last)


def test_numbers_and_kinds_are_carried_over():
    assert ours("part.2.unit.17.lin.bias") == ("stages.2.blocks.17.proj.bias",)


def test_the_inverse_is_the_same_table_read_backwards():
    assert theirs("stages.2.blocks.17.proj.bias") == ("part.2.unit.17.lin.bias",)


def test_parts_have_one_name_here_and_know_which_they_are():
    assert ours("part.1.q.bias") == ours("part.1.k.bias") == ("stages.1.qk.bias",)
    assert place_in_ours(LAYOUT, "part.1.k.bias", 3).part == 1
    assert theirs("stages.1.qk.bias") == ("part.1.q.bias", "part.1.k.bias")


def test_the_last_stage_gives_its_number_to_the_final_norm():
    assert ours("end.weight", 2) == ("norm2.weight",)
    assert theirs("norm2.weight", 2) == ("end.weight",)
    assert theirs("norm1.weight", 2) is None


def test_a_second_spelling_is_read_but_not_written():
    assert ours("finish.bias", 2) == ("norm2.bias",)
    assert theirs("norm2.bias", 2) == ("end.bias",)


def test_what_the_table_lacks_has_no_place():
    assert ours("part.2.unit.1.lin.scale") is None
    assert theirs("stages.2.blocks.17.gamma") is None


def test_rows_of_the_same_names_share_their_ends():
    assert same("a.{i}", "b.{i}", "x.{t}", "y") == (
        Row("a.{i}.x.{t}", "b.{i}.x.{t}"),
        Row("a.{i}.y", "b.{i}.y"),
    )
