"""SwinV2's windows, read off a buffer."""

import math

import pytest
import torch

from swin_mm.checkpoints import CheckpointError, load_pretrained
from swin_mm.checkpoints.coordinates import COORDINATES, Geometry, geometry_of

BLOCK = "stages.{}.blocks.{}.attn.w_msa."


def coordinates(window, pretrained):
    """By the definition: sign(t) log2(8 |t| + 1) / 3 of offsets by the pretrained window less 1."""

    def one(offset, side):
        t = offset / max(side - 1, 1)
        return math.copysign(math.log2(8 * abs(t) + 1) / 3, t)

    return torch.tensor(
        [
            [
                [one(down, pretrained[0]), one(across, pretrained[1])]
                for across in range(1 - window[1], window[1])
            ]
            for down in range(1 - window[0], window[0])
        ]
    )[None]


def with_windows(state, window, pretrained, stages=(0, 1, 2), depths=(2, 2, 4)):
    table = coordinates(window, pretrained)
    names = (BLOCK.format(i, j) for i in stages for j in range(depths[i]))
    return {**state, **{name + COORDINATES: table for name in names}}


@pytest.mark.parametrize(
    ("window", "pretrained"),
    [((8, 8), (8, 8)), ((24, 24), (12, 12)), ((16, 16), (16, 16)), ((4, 8), (4, 8)),
     ((1, 5), (1, 3)), ((12, 12), (6, 6)), ((7, 14), (5, 9))],
)  # fmt: skip
def test_windows_are_read_off_the_coordinates(window, pretrained):
    assert geometry_of(coordinates(window, pretrained)) == Geometry(window, pretrained)


@pytest.mark.parametrize("shape", [(), (15, 15, 2), (1, 15, 15, 3), (1, 14, 15, 2), (2, 15, 15, 2)])
def test_what_is_no_table_of_coordinates_says_nothing(shape):
    assert geometry_of(torch.ones(shape)) is None


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_coordinates_of_nothing_say_nothing(value):
    assert geometry_of(torch.full((1, 5, 5, 2), value)) is None


def test_the_same_windows_load_without_a_word(build_v2):
    source, model = build_v2(seed=1), build_v2(seed=2)
    report = load_pretrained(model, with_windows(source.state_dict(), (3, 3), (3, 3)))
    assert report.resized == () and report.surprises == ()


def test_another_window_is_said_with_both(build_v2):
    state = with_windows(build_v2(seed=1).state_dict(), (3, 3), (3, 3))
    model = build_v2(seed=2, window_size=5, pretrained_window_sizes=3)
    report = load_pretrained(model, state)
    assert {entry.how for entry in report.resized} == {"window 3x3 -> 5x5, bias computed anew"}
    assert report.resized[0].before == (1, 5, 5, 2)
    assert report.resized[0].after == (1, 9, 9, 2)
    assert "stages.0.blocks.0" in report.table() and "not read: 1x5x5x2" in report.table()


def test_another_window_that_forgets_the_pretrained_one_is_refused(build_v2):
    state = with_windows(build_v2(seed=1).state_dict(), (3, 3), (3, 3))
    with pytest.raises(CheckpointError, match=r"pretrained_window_sizes=\(3, 3\)"):
        load_pretrained(build_v2(seed=2, window_size=5), state)


def test_a_file_that_does_not_tell_its_windows_is_taken_for_the_models_with_a_word(build_v2):
    report = load_pretrained(build_v2(), build_v2().state_dict())
    assert report.assumed.startswith(
        "the file does not say its windows, taken as 3x3, pretrained on 3x3 ("
    )
    assert str(report).endswith(report.assumed)
    model = build_v2(window_size=(4, 4, 2), pretrained_window_sizes=(3, 3, 2))
    report = load_pretrained(model, build_v2().state_dict())
    assert "taken as 4x4, 4x4, 2x2, pretrained on 3x3, 3x3, 2x2" in report.assumed
    told = with_windows(build_v2().state_dict(), (3, 3), (3, 3))
    assert load_pretrained(build_v2(), told).assumed == ""


def test_plain_loading_compares_the_windows_too_and_takes_the_buffers_away(build_v2):
    told = with_windows(build_v2(seed=1).state_dict(), (3, 3), (3, 3))
    model = build_v2(seed=2)
    model.load_state_dict(told)  # strict
    with pytest.raises(CheckpointError, match="relative to windows of 3x3, the model's to 5x5"):
        build_v2(window_size=5).load_state_dict(told, strict=False)


def test_a_fine_tuned_window_without_its_pretrained_one_is_refused(build_v2):
    fine_tuned = build_v2(seed=1, window_size=5, pretrained_window_sizes=3)
    state = with_windows(fine_tuned.state_dict(), (5, 5), (3, 3))
    with pytest.raises(CheckpointError, match=r"relative to windows of 3x3, the model's to 5x5"):
        load_pretrained(build_v2(seed=2, window_size=5), state)
    model = build_v2(seed=2, window_size=5, pretrained_window_sizes=3)
    load_pretrained(model, state)
    picture = torch.randn(1, 3, 44, 61)
    assert all(map(torch.equal, model(picture), fine_tuned(picture)))
