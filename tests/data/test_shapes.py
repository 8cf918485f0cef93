import numpy as np
import pytest

from swin_mm.data.palettes import Tone
from swin_mm.data.shapes import SHAPES, arc, box, mirrored, ribbon
from swin_mm.data.sprites import rasterise

PALETTE = np.arange(15, dtype=np.uint8).reshape(5, 3) * 17


def sprite_of(name: str, seed: int):
    drawing = SHAPES[name](np.random.default_rng(seed))
    return rasterise(drawing, np.array([[100.0, 0, 60], [0, 100.0, 60]]), PALETTE)


@pytest.mark.parametrize("name", SHAPES)
def test_a_thing_reaches_over_its_unit_and_hardly_further(name):
    for seed in range(20):
        rings = [ring for part in SHAPES[name](np.random.default_rng(seed)) for ring in part.rings]
        points = np.vstack(rings)
        assert np.isfinite(points).all()
        assert np.abs(points).max() <= 0.6
        assert np.ptp(points, axis=0).max() >= 0.75


@pytest.mark.parametrize("name", SHAPES)
def test_no_two_things_of_a_kind_are_alike(name):
    covers = {sprite_of(name, seed).colour.tobytes() for seed in range(6)}
    assert len(covers) == 6


@pytest.mark.parametrize("name", SHAPES)
def test_every_kind_has_structure_inside_its_silhouette(name):
    tones = {part.tone for part in SHAPES[name](np.random.default_rng(3))}
    assert len(tones) >= 2
    assert Tone.BODY in tones


def test_silhouettes_of_different_kinds_have_different_fill():
    fill = {name: np.mean([sprite_of(name, s).cover.mean() for s in range(5)]) for name in SHAPES}
    assert fill["sports ball"] > fill["donut"] + 0.05
    assert fill["airplane"] < 0.5


def test_only_the_donut_has_a_hole_in_its_middle():
    middles = {name: sprite_of(name, 0).cover for name in ("donut", "sports ball", "bottle")}
    at = {name: cover[cover.shape[0] // 2, cover.shape[1] // 2] for name, cover in middles.items()}
    assert at == {"donut": 0, "sports ball": 1, "bottle": 1}


def test_an_arc_begins_and_ends_where_it_is_told_and_a_circle_closes_by_itself():
    assert np.allclose(arc(2, 0, 0.25, steps=3)[[0, -1]], [[2, 0], [0, 2]])
    assert not np.allclose(arc(1)[0], arc(1)[-1])


def test_a_ribbon_is_as_wide_as_told():
    band = ribbon(np.array([[0.0, 0], [1, 0], [2, 0]]), 0.5)
    assert np.allclose(sorted(band[:, 1]), [-0.25] * 3 + [0.25] * 3)


def test_mirrored_swaps_left_and_right():
    assert mirrored(box(1, 2, 3, 4)).tolist() == [[-1, 2], [-3, 2], [-3, 4], [-1, 4]]
