from swin_mm.checkpoints.formats import Layout, Row
from swin_mm.checkpoints.formats.layout import (
    matches,
    place_in_ours,
    place_in_theirs,
    prefix_before,
)

LAYOUT = Layout(
    name="made-up",
    rows=(
        Row("part.{i}.unit.{j}.lin.{t}", "stages.{i}.blocks.{j}.proj.{t}"),
        Row("finish.{t}", "norm{last}.{t}", writes=False),
        Row("end.{t}", "norm{last}.{t}"),
    ),
    signature="part.{i}.unit.{j}.lin.weight",
)


def test_numbers_and_kinds_are_carried_over():
    place = place_in_ours(LAYOUT, "part.2.unit.17.lin.bias", 3)
    assert place.name == "stages.2.blocks.17.proj.bias"


def test_the_inverse_is_the_same_table_read_backwards():
    place = place_in_theirs(LAYOUT, "stages.2.blocks.17.proj.bias", 3)
    assert place.name == "part.2.unit.17.lin.bias"


def test_the_last_stage_gives_its_number_to_the_final_norm():
    assert place_in_ours(LAYOUT, "end.weight", 2).name == "norm2.weight"
    assert place_in_theirs(LAYOUT, "norm2.weight", 2).name == "end.weight"
    assert place_in_theirs(LAYOUT, "norm1.weight", 2) is None


def test_a_second_spelling_is_read_but_not_written():
    assert place_in_ours(LAYOUT, "finish.bias", 2).name == "norm2.bias"
    assert place_in_theirs(LAYOUT, "norm2.bias", 2).name == "end.bias"


def test_a_name_must_match_whole():
    assert place_in_ours(LAYOUT, "part.2.unit.1.lin.bias.more", 3) is None
    assert place_in_ours(LAYOUT, "apart.2.unit.1.lin.bias", 3) is None
    assert place_in_ours(LAYOUT, "part.2.unit.1.lin.scale", 3) is None
    assert not matches("part.{i}", "partX1", 0)


def test_a_prefix_is_all_that_precedes_a_signature():
    assert prefix_before(LAYOUT.signature, "a.b.part.1.unit.0.lin.weight") == ("a.b.", 1)
    assert prefix_before(LAYOUT.signature, "part.1.unit.0.lin.weight") == ("", 1)
    assert prefix_before(LAYOUT.signature, "apart.1.unit.0.lin.weight") is None
