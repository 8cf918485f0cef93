import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle

from swin_mm.layers import RelativePositionBias
from swin_mm.visualization import draw_position_bias

MODULE = RelativePositionBias((3, 4), num_heads=2)
QUERY = (1, 2)


@pytest.fixture(scope="module")
def panels():
    return draw_position_bias(MODULE, QUERY, head=1).axes


def test_a_cell_tells_the_row_of_the_table_for_its_key(panels):
    told = {
        (int(y), int(x)): int(text.get_text())
        for text in panels[0].texts
        if text.get_text().isdigit()
        for x, y in [text.get_position()]
    }
    index = MODULE.relative_position_index[QUERY[0] * 4 + QUERY[1]].view(3, 4)
    expected = {cell: int(index[cell]) for cell in np.ndindex(3, 4) if cell != QUERY}
    assert told == expected


def test_the_frame_holds_the_numbers_that_the_query_reads(panels):
    table = panels[1].images[0].get_array()  # by offset, from (-2, -3) on
    frame = next(patch for patch in panels[1].patches if isinstance(patch, Rectangle))
    left, top = (round(edge) for edge in np.array(frame.get_xy()) + 0.5)  # offsets
    framed = table[top + 2 : top + 5, left + 3 : left + 7]
    assert np.array_equal(framed[::-1, ::-1], panels[0].images[0].get_array())


def test_the_right_panel_is_the_bias_of_that_head(panels):
    assert torch.equal(torch.from_numpy(panels[2].images[0].get_array().data), MODULE.bias()[1])


@pytest.mark.parametrize(("query", "head"), [((3, 0), 0), ((0, 4), 0), ((0, 0), 2), ((-1, 0), 0)])
def test_what_the_module_does_not_have_is_refused(query, head):
    with pytest.raises(ValueError, match="3x4 tokens and 2 heads"):
        draw_position_bias(MODULE, query, head=head)


def test_a_table_of_zeros_is_drawn():
    module = RelativePositionBias((2, 2), num_heads=1)
    torch.nn.init.zeros_(module.relative_position_bias_table)
    assert len(draw_position_bias(module, (0, 0)).axes) == 3
