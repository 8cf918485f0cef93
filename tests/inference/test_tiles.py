import itertools

from hypothesis import given
from hypothesis import strategies as st

from swin_mm.inference.tiles import Grid, Span, Tile, spans


@st.composite
def sides(draw):
    tile = draw(st.integers(2, 40))
    return draw(st.integers(1, 300)), tile, draw(st.integers(1, tile // 2))


@given(sides())
def test_tiles_cover_a_side_and_are_full_unless_it_is_shorter(side):
    length, tile, overlap = side
    laid = spans(length, tile, overlap)
    assert laid[0].start == laid[0].own_start == 0
    assert laid[-1].stop == length
    assert all(span.stop - span.start == min(tile, length) for span in laid)


@given(sides())
def test_what_counts_of_neighbours_shares_the_overlap_and_of_others_nothing(side):
    length, tile, overlap = side
    laid = spans(length, tile, overlap)
    for before, after in itertools.pairwise(laid):
        assert before.stop - after.own_start == overlap
        assert after.own_start >= after.start
    for before, after in zip(laid, laid[2:], strict=False):
        assert before.stop <= after.own_start


def test_the_last_tile_is_moved_back_until_it_is_full():
    assert spans(25, 10, 2) == [Span(0, 10, 0), Span(8, 18, 8), Span(15, 25, 16)]


def test_a_grid_has_tiles_of_one_size():
    grid = Grid(7, 25, 10, 2)
    assert len(grid) == 3
    tiles = [Tile(rows, columns) for rows in grid.rows for columns in grid.columns]
    assert [tile.corners for tile in tiles] == [(0, 0, 10, 7), (8, 0, 18, 7), (15, 0, 25, 7)]
