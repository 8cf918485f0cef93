import pytest
import torch

from swin_mm.checkpoints import CheckpointError, load_pretrained
from swin_mm.checkpoints.coordinates import COORDINATES, Geometry, geometry_of
from swin_mm.checkpoints.windows import windows_of, with_window

FIRST = "stages.0.blocks.0.attn.w_msa."


def without_buffers(state):
    return {name: tensor for name, tensor in state.items() if not name.endswith("_index")}


def test_a_table_tells_its_window(build):
    told = dict(windows_of(without_buffers(build(window_size=5).state_dict())))
    assert len(told) == 8
    assert set(told.values()) == {Geometry((5, 5), (5, 5))}


def test_an_index_tells_an_oblong_window(build):
    state = build(window_size=(2, 4)).state_dict()
    assert dict(windows_of(state))[FIRST].window == (2, 4)
    with pytest.raises(CheckpointError, match=f"{FIRST}.*fits"):
        dict(windows_of(without_buffers(state)))


@pytest.mark.parametrize("shape", [(), (25,), (25, 1, 1)])
def test_a_table_of_any_odd_shape_is_one_error(build, shape):
    state = {**build().state_dict(), FIRST + "relative_position_bias_table": torch.ones(shape)}
    with pytest.raises(CheckpointError, match="must have a row for each offset"):
        dict(windows_of(state))


def test_a_swin_v2_without_buffers_does_not_tell(build_v2):
    assert set(dict(windows_of(build_v2().state_dict())).values()) == {None}


@pytest.mark.parametrize("method", ["bicubic", "geometric"])
def test_tables_and_indices_come_to_a_window(build, method):
    source, wide = build(seed=1), build(seed=2, window_size=5)
    made = with_window(source.state_dict(), (5, 5), resize_bias=method)
    load_pretrained(build(seed=3, window_size=5), made)
    wide.load_state_dict(made)  # strict: as a model of that window would have saved it
    report = load_pretrained(build(seed=2, window_size=5), source.state_dict(), resize_bias=method)
    assert report.resized[0].how.startswith("window 3x3 -> 5x5")
    reference = build(seed=4, window_size=5)
    load_pretrained(reference, source.state_dict(), resize_bias=method)
    ours = wide.stages[1].blocks[0].attn.w_msa.relative_position_bias_table
    theirs = reference.stages[1].blocks[0].attn.w_msa.relative_position_bias_table
    assert torch.equal(ours, theirs)


def test_the_two_ways_to_resize_differ(build):
    state = build(seed=1).state_dict()
    one, other = (
        with_window(state, (6, 6), resize_bias=method) for method in ("bicubic", "geometric")
    )
    table = FIRST + "relative_position_bias_table"
    assert not torch.allclose(one[table], other[table])


def test_the_same_window_changes_nothing(build, same_tensors):
    state = build().state_dict()
    assert same_tensors(with_window(state, (3, 3)), state) == []
    assert same_tensors(with_window(without_buffers(state), None), state) == []


def test_a_swin_v2_gets_buffers_for_a_window_that_is_given(build_v2):
    made = with_window(build_v2().state_dict(), (4, 6))
    assert geometry_of(made[FIRST + COORDINATES]) == Geometry((4, 6), (4, 6))
    larger = with_window(made, (8, 12))
    assert geometry_of(larger[FIRST + COORDINATES]) == Geometry((8, 12), (4, 6))


def test_a_swin_v2_that_must_say_its_window_asks_for_it(build_v2):
    state = build_v2().state_dict()
    assert with_window(state, None).keys() == state.keys()
    with pytest.raises(CheckpointError, match="Give it"):
        with_window(state, None, needed=True)
