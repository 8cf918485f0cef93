import numpy as np
import pytest

from swin_mm.data.palettes import Tone
from swin_mm.data.shapes import Part, arc, box
from swin_mm.data.sprites import Sprite, overlap, paste, rasterise

PALETTE = np.array(
    [[10, 20, 30], [200, 210, 220], [0, 0, 0], [255, 255, 255], [90, 80, 70]], np.uint8
)


def square(side: float, corner: tuple[float, float]) -> Sprite:
    matrix = np.array([[side, 0, corner[0]], [0, side, corner[1]]])
    return rasterise((Part((box(0, 0, 1, 1),), Tone.BODY),), matrix, PALETTE)


def test_the_cover_adds_up_to_the_area_and_lies_where_it_belongs():
    sprite = rasterise(
        (Part((arc(1.0, steps=200),), Tone.BODY),), np.array([[30, 0, 50], [0, 30, 40.0]]), PALETTE
    )
    assert sprite.cover.sum() == pytest.approx(np.pi * 30**2, rel=0.03)
    rows, columns = np.indices(sprite.cover.shape) + 0.5
    middle = [(axis * sprite.cover).sum() / sprite.cover.sum() for axis in (columns, rows)]
    assert np.add(middle, sprite.corner) == pytest.approx([50, 40], abs=0.3)


def test_edges_are_anti_aliased():
    cover = rasterise(
        (Part((arc(1.0),), Tone.BODY),), np.array([[30, 0, 50], [0, 30, 40.0]]), PALETTE
    ).cover
    assert ((cover > 0) & (cover < 1)).sum() > 150
    assert len(np.unique(cover)) > 20


def test_a_ring_inside_a_ring_is_a_hole():
    drawing = (Part((arc(1.0), arc(0.5)), Tone.BODY),)
    cover = rasterise(drawing, np.array([[30, 0, 50], [0, 30, 40.0]]), PALETTE).cover
    assert cover[cover.shape[0] // 2, cover.shape[1] // 2] == 0


def test_a_marking_changes_the_colour_but_not_the_silhouette():
    matrix = np.array([[20.0, 0, 10], [0, 20.0, 10]])
    body = Part((box(0, 0, 1, 1),), Tone.BODY)
    plain = rasterise((body,), matrix, PALETTE)
    marked = rasterise(
        (body, Part((box(0.5, 0.2, 1.1, 0.8),), Tone.ACCENT, inner=True)), matrix, PALETTE
    )
    inside = np.s_[1:-1, 1:20]
    assert plain.cover[:, :20].sum() == marked.cover[:, :20].sum()
    assert (marked.colour[inside] - plain.colour[inside]).max() == 190
    assert not marked.colour[marked.cover == 0].any()


@pytest.mark.parametrize("corner", [(-15.0, 5.0), (45.0, -12.0), (200.0, 10.0), (-300.0, -300.0)])
def test_a_sprite_is_cut_at_the_edge_of_the_picture(corner):
    image, sprite = np.zeros((40, 60, 3), np.uint8), square(20, corner)
    paste(image, sprite)
    columns = max(0, min(60, corner[0] + 20) - max(0, corner[0]))
    rows = max(0, min(40, corner[1] + 20) - max(0, corner[1]))
    assert (image[..., 2] > 15).sum() == pytest.approx(rows * columns, abs=45)
    inside, within = overlap(sprite.corner, sprite.cover.shape, (40, 60))
    assert image[inside].shape[:2] == sprite.cover[within].shape


def test_what_is_half_covered_shows_half_of_what_is_behind():
    image = np.full((4, 4, 3), 100, np.uint8)
    half = np.full((2, 2), 0.5, np.float32)
    paste(image, Sprite((1, 1), half, np.full((2, 2, 3), 20, np.float32)))
    assert image[1:3, 1:3].tolist() == [[[70] * 3] * 2] * 2
    assert image[0].tolist() == [[100] * 3] * 4
