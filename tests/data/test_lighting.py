import numpy as np
import pytest

from swin_mm.data.lighting import Light, draw_light, lit, normals
from swin_mm.data.palettes import Tone
from swin_mm.data.shapes import Part, arc
from swin_mm.data.sprites import rasterise

GREY = np.full((5, 3), 100, np.uint8)
DISC = rasterise(
    (Part((arc(1.0, steps=100),), Tone.BODY),), np.array([[40, 0, 50], [0, 40, 50.0]]), GREY
)


def test_a_disc_bulges_like_a_ball():
    right, down, towards = normals(DISC.cover, 1.0)
    middle, reach = len(DISC.cover) // 2, 20
    assert towards[middle, middle] > 0.99
    assert right[middle, middle + reach] == pytest.approx(0.5, abs=0.1)
    assert down[middle - reach, middle] == pytest.approx(-0.5, abs=0.1)


def test_a_sheet_is_flat_but_for_its_rim():
    towards = normals(DISC.cover, 0.12)[2]
    middle = len(DISC.cover) // 2
    assert towards[middle - 20 : middle + 20, middle].min() > 0.99


def test_the_side_towards_the_light_is_brighter():
    light = Light((-0.6, -0.6, 0.52915), ambient=0.4, gloss=0.0)
    colour = lit(DISC, light, 1.0, np.random.default_rng(0)).colour[..., 0]
    half = len(colour) // 2
    assert colour[:half, :half].sum() > 1.5 * colour[half:, half:].sum()


def test_a_glossy_thing_has_a_highlight():
    bright = [
        lit(DISC, Light((0.0, -0.6, 0.8), 0.4, gloss), 1.0, np.random.default_rng(0)).colour.max()
        for gloss in (0.0, 0.4)
    ]
    assert bright[1] > bright[0] + 50


def test_lights_shine_from_above_and_have_unit_length():
    for seed in range(20):
        direction = np.array(draw_light(np.random.default_rng(seed)).direction)
        assert np.linalg.norm(direction) == pytest.approx(1)
        assert direction[1] < 0 < direction[2]
