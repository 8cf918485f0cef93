import numpy as np
import pytest

from swin_mm.data.lighting import Light
from swin_mm.data.shadows import cast_lying, cast_standing
from swin_mm.data.sprites import Sprite

LIGHT = Light((-0.6, -0.48, 0.64), ambient=0.5, gloss=0.0)  # from the upper left
BLOCK = Sprite((50, 40), np.ones((30, 20), np.float32), np.zeros((30, 20, 3), np.float32))


def middle_of_shadow(image: np.ndarray) -> np.ndarray:
    dark = 200 - image[..., 0].astype(float)
    return np.array([(axis * dark).sum() / dark.sum() for axis in np.indices(dark.shape)[::-1]])


def test_a_lying_thing_darkens_what_is_on_the_far_side_of_the_light():
    image = np.full((120, 160, 3), 200, np.uint8)
    cast_lying(image, BLOCK, LIGHT, height=8)
    offset = middle_of_shadow(image) - (59.5, 54.5)
    assert offset == pytest.approx([8 * 0.6 / 0.64, 8 * 0.48 / 0.64], abs=1)
    assert image.min() == pytest.approx(200 * (1 - 0.75 * 0.5), abs=3)


def test_a_standing_thing_casts_from_its_foot():
    image = np.full((120, 160, 3), 200, np.uint8)
    cast_standing(image, BLOCK, LIGHT)
    dark = np.argwhere(image[..., 0] < 190)
    assert dark[:, 0].max() == pytest.approx(70, abs=3)  # the foot
    assert dark[:, 0].min() > 55  # foreshortened
    top, bottom = (np.mean(dark[dark[:, 0] == row][:, 1]) for row in (61, 68))
    assert top > bottom + 3  # away from the light


@pytest.mark.parametrize("corner", [(-40, -50), (155, 10), (400, 400)])
def test_a_shadow_may_fall_outside_the_picture(corner):
    image = np.full((120, 160, 3), 200, np.uint8)
    cast_lying(image, Sprite(corner, BLOCK.cover, BLOCK.colour), LIGHT, height=5)
    cast_standing(image, Sprite(corner, BLOCK.cover, BLOCK.colour), LIGHT)
    assert image.max() == 200
