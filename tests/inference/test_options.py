import pytest

from swin_mm.inference import Classes, InferenceError, Options

ANIMALS = Classes(("Cat", "dog", "newt"), ((1, 1, 1),) * 3, (17, 18, 19))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 0}, "--batch-size"),
        ({"overlay_side": 0}, "--overlay-side"),
        ({"score_threshold": 1.5}, "between 0 and 1, got 1.5"),
        ({"score_threshold": -0.1}, "between 0 and 1"),
        ({"tile": 31}, "at least 32 px"),
        ({"tile": -1}, "at least 32 px"),
        ({"tile": 100, "overlap": 51}, "tiles of 100 px may share .* 1 to 50 px, got 51"),
        ({"overlap": 513}, "tiles of 1024 px may share"),
        ({"tile": 100, "overlap": 0}, "1 to 50 px, got 0"),
        ({"tile": 0, "overlap": 8}, "--tile 0 makes none"),
    ],
)
def test_a_number_without_meaning_is_told_with_what_would_have_one(wrong, message):
    with pytest.raises(InferenceError, match=message):
        Options(**wrong)


def test_what_the_model_decides_is_filled_in():
    found = Options(tile=200).checked(ANIMALS, instances=True)
    assert (found.overlap, found.score_threshold) == (50, 0.3)
    assert Options(tile=200).checked(ANIMALS, instances=False).overlap == 25
    assert Options().checked(ANIMALS, instances=True).overlap == 256
    assert Options(tile=0).checked(ANIMALS, instances=True).overlap is None
    asked = Options(tile=200, overlap=9, score_threshold=0.0).checked(ANIMALS, instances=True)
    assert (asked.overlap, asked.score_threshold) == (9, 0)


def test_a_threshold_means_nothing_to_a_segmentor():
    with pytest.raises(InferenceError, match="labels every pixel"):
        Options(score_threshold=0.5).checked(ANIMALS, instances=False)


def test_classes_are_found_whatever_the_case_and_kept_in_their_order():
    options = Options(classes=("NEWT", "cat", "newt")).checked(ANIMALS, instances=True)
    assert options.classes == ("newt", "Cat")
    assert options.kept_labels(ANIMALS) == [0, 2]
    assert Options().kept_labels(ANIMALS) == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "message"),
    [("neWts", "no class 'neWts' .*; did you mean newt"), ("x", "it has Cat, dog, newt$")],
)
def test_an_unknown_class_is_answered_with_the_near_ones(name, message):
    with pytest.raises(InferenceError, match=message):
        Options(classes=(name,)).checked(ANIMALS, instances=True)


@pytest.mark.parametrize(
    ("tile", "size", "side"),
    [
        (None, (5793, 5792), 0),  # 2**25 px and a few less
        (None, (5793, 5793), 1024),
        (None, (20, 2**22), 1024),
        (0, (20000, 20000), 0),
        (100, (100, 100), 0),
        (100, (101, 2), 100),
    ],
)
def test_tiles_come_where_they_are_asked_for_or_else_above_a_bound(tile, size, side):
    assert Options(tile=tile).tile_for(*size) == side


def test_the_size_of_batches_changes_no_result_and_all_else_may():
    told = Options().that_matter()
    assert "batch_size" not in told
    assert {"tile", "overlap", "tta", "amp", "compile", "classes", "score_threshold"} <= told.keys()
