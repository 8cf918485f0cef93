import numpy as np
import pytest

from swin_mm.data.occlusion import visible
from swin_mm.data.sprites import Sprite

SIZE = (60, 40)


def block(corner: tuple[int, int], shape: tuple[int, int] = (10, 20), cover: float = 1.0) -> Sprite:
    return Sprite(corner, np.full(shape, cover, np.float32), np.zeros((*shape, 3), np.float32))


def test_what_stands_before_a_thing_is_cut_out_of_it():
    (corner, back), (_, front) = visible([[block((5, 5))], [block((15, 5))]], SIZE)
    assert corner == (5, 5)
    assert back.sum() == 100
    assert back[:, 10:].sum() == 0
    assert front.sum() == 200


def test_half_a_cover_hides_half():
    (_, back), _ = visible([[block((5, 5))], [block((5, 5), cover=0.5)]], SIZE)
    assert np.allclose(back, 0.5)


def test_a_thing_is_cut_at_the_edge_of_the_picture():
    ((corner, cover),) = visible([[block((-8, 35))]], SIZE)
    assert corner == (0, 35)
    assert cover.shape == (5, 12)


@pytest.mark.parametrize(("start", "shown"), [(12, True), (10, False)])
def test_a_thing_that_shows_less_than_three_tenths_is_left_out(start, shown):
    groups = [[block((5, 5))], [block((start - 1, 5), (10, 30))]]
    assert (visible(groups, SIZE)[0] is not None) == shown


def test_what_is_left_out_hides_nothing():
    groups = [[block((0, 5))], [block((-16, 5))], [block((30, 5))]]
    back, gone, _ = visible(groups, SIZE)
    assert gone is None
    assert back[1].sum() == 200


def test_a_thing_outside_the_picture_is_left_out():
    assert visible([[block((70, 5))], [block((5, 50))], [block((-30, -30))]], SIZE) == [None] * 3


def test_a_crowd_is_one_cover_of_all_its_members():
    ((corner, cover),) = visible([[block((5, 5)), block((15, 8)), block((-40, 0))]], SIZE)
    assert corner == (0, 0)
    assert cover.sum() == pytest.approx(200 + 200 - 10 * 7)
