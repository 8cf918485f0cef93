import pytest

from swin_mm.checkpoints.formats.patterns import fill, match, prefix_before


def test_numbers_and_kinds_are_read_and_written():
    fields = match("part.{i}.unit.{j}.lin.{t}", "part.2.unit.17.lin.bias", 3)
    assert fields == {"i": 2, "j": 17, "t": "bias"}
    assert fill("stages.{i}.blocks.{j}.proj.{t}", fields, 3) == "stages.2.blocks.17.proj.bias"


@pytest.mark.parametrize(
    ("pattern", "name", "stage"),
    [
        ("features.{2i+1}.x", "features.1.x", 0),
        ("features.{2i+1}.x", "features.7.x", 3),
        ("features.{2i+1}.x", "features.2.x", None),
        ("features.{2i+2}.x", "features.2.x", 0),
        ("features.{2i+2}.x", "features.0.x", None),
        ("layers.{i+1}.x", "layers.1.x", 0),
        ("layers.{i+1}.x", "layers.0.x", None),
    ],
)
def test_a_number_may_be_a_multiple_and_more(pattern, name, stage):
    fields = match(pattern, name, 3)
    assert (fields and fields["i"]) == stage
    if fields:
        assert fill(pattern, fields, 3) == name


def test_the_last_stage_is_a_number_known_before():
    assert match("norm{last}.{t}", "norm2.weight", 2) == {"t": "weight"}
    assert match("norm{last}.{t}", "norm1.weight", 2) is None
    assert fill("norm{last}.{t}", {"t": "bias"}, 2) == "norm2.bias"


@pytest.mark.parametrize(
    "name", ["part.2.lin.bias.more", "apart.2.lin.bias", "part.2.lin.scale", "part.2Xlin.bias"]
)
def test_a_name_must_match_whole(name):
    assert match("part.{i}.lin.{t}", name, 3) is None


def test_a_field_of_no_meaning_is_refused():
    with pytest.raises(ValueError, match="got 'q'"):
        match("part.{q}", "part.1", 3)


def test_a_prefix_is_all_that_precedes_a_pattern():
    signature = "part.{i}.unit.{j}.lin.weight"
    assert prefix_before(signature, "a.b.part.1.unit.0.lin.weight") == ("a.b.", 1)
    assert prefix_before(signature, "part.1.unit.0.lin.weight") == ("", 1)
    assert prefix_before(signature, "apart.1.unit.0.lin.weight") is None
    assert prefix_before("f.{2i+1}.w", "p.f.5.w") == ("p.", 2)
    assert prefix_before("f.{2i+1}.w", "p.f.4.w") is None
