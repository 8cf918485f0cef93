import numpy as np
import pytest

from swin_mm.data.textures import FAR, GROUNDS, SKY, WALLS

EVERY = (*GROUNDS, *WALLS, *FAR, SKY)
NAMES = [f"{surface.pattern.__name__}-{surface.ade_id}" for surface in EVERY]


@pytest.mark.parametrize("surface", EVERY, ids=NAMES)
def test_a_surface_fills_any_shape_with_texture(surface):
    for shape in ((37, 211), (200, 64)):
        grey = surface.pattern(np.random.default_rng(0), shape, 1.0)
        image = surface.paint(np.random.default_rng(0), grey)
        assert (grey.shape, grey.dtype) == (shape, np.uint8)
        assert image.shape == (*shape, 3)
        assert image.std() > 2


@pytest.mark.parametrize("surface", EVERY, ids=NAMES)
def test_a_pattern_grows_with_its_unit(surface):
    steps = []
    for unit in (3.0, 0.75):
        patterns = [
            surface.pattern(np.random.default_rng(seed), (160, 160), unit).astype(float)
            for seed in range(6)
        ]
        steps.append(sum(np.abs(np.diff(p, axis=a)).mean() for p in patterns for a in (0, 1)))
    # Grain stays as fine as the pixels, as a photograph's does.
    always_fine = surface.pattern.__name__ in ("grit", "blades")
    assert steps[0] < steps[1] * (1.05 if always_fine else 0.8)


def test_there_are_several_grounds_and_backdrops_and_all_are_ade20ks_stuff():
    assert len({surface.pattern for surface in GROUNDS}) >= 6
    assert len({surface.pattern for surface in (*WALLS, *FAR, SKY)}) >= 5
    stuff = {1, 2, 3, 4, 5, 7, 10, 12, 14, 17, 19, 22, 29, 47}
    assert {surface.ade_id for surface in EVERY} == stuff
