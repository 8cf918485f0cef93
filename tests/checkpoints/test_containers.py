import pytest
import torch

from swin_mm.checkpoints import CheckpointError
from swin_mm.checkpoints.containers import CONTAINERS, unwrap

TENSORS = {"layers.0.weight": torch.ones(1)}


@pytest.mark.parametrize("container", CONTAINERS)
def test_each_container_is_opened(container):
    unwrapped = unwrap({container: TENSORS, "epoch": 3, "best": torch.ones(1)})
    assert list(unwrapped.tensors) == list(TENSORS)
    assert unwrapped.container == container


def test_a_bare_file_needs_no_container():
    assert unwrap(TENSORS).container == ""


def test_containers_may_lie_in_each_other():
    assert unwrap({"model": {"state_dict": TENSORS}}).container == "model.state_dict"


def test_a_container_that_holds_itself_comes_to_an_end():
    ring = {"a": torch.ones(1)}
    ring["model"] = ring
    assert list(unwrap(ring).tensors) == ["a"]


def test_a_layer_named_like_a_container_is_no_container():
    unwrapped = unwrap({"model": torch.ones(1), "net": torch.ones(1)})
    assert list(unwrapped.tensors) == ["model", "net"]


def test_the_teacher_goes_before_the_student():
    unwrapped = unwrap({"student": {"a": torch.zeros(1)}, "teacher": {"a": torch.ones(1)}})
    assert unwrapped.container == "teacher" and unwrapped.tensors["a"] == 1


def test_wrappers_of_modules_leave_no_trace():
    key = "backbone._orig_mod.layers.0._checkpoint_wrapped_module.blocks.0.norm1.weight"
    assert list(unwrap({key: torch.ones(1)}).tensors) == ["backbone.layers.0.blocks.0.norm1.weight"]


def test_what_is_no_tensor_is_left_out():
    assert list(unwrap({**TENSORS, "epoch": 3, 5: torch.ones(1)}).tensors) == list(TENSORS)


@pytest.mark.parametrize("empty", [{}, {"state_dict": {}}, {"epoch": 3, "state_dict": {"a": 1}}])
def test_a_file_without_tensors_is_refused(empty):
    with pytest.raises(CheckpointError, match="must hold named tensors"):
        unwrap(empty)


def test_layers_that_timm_flattened_get_their_dots_back():
    keys = ["layers_0.blocks.1.norm1.weight", "module.layers_3.x", "my_layers_0.x"]
    tensors = unwrap({key: torch.ones(1) for key in keys}).tensors
    assert list(tensors) == ["layers.0.blocks.1.norm1.weight", "module.layers.3.x", "my_layers_0.x"]
