import pytest
import torch

from swin_mm.checkpoints import CheckpointError
from swin_mm.checkpoints.anatomy import Anatomy, anatomy_of, check_same_network

HEADS = {0: 3, 1: 6, 2: 12, 3: 24}
TINY = Anatomy(1, 96, (2, 2, 6, 2), HEADS)
SMALL = Anatomy(1, 96, (2, 2, 18, 2), HEADS)
BASE = Anatomy(1, 128, (2, 2, 18, 2), {0: 4, 1: 8, 2: 16, 3: 32})


def test_sizes_are_read_off_a_model(build):
    assert anatomy_of(build().state_dict()) == Anatomy(1, 8, (2, 2, 4), {0: 1, 1: 2, 2: 4})


def test_another_depth_is_said_in_words():
    with pytest.raises(CheckpointError) as error:
        check_same_network(SMALL, TINY)
    said = "checkpoint has depth 18 in stage 2, the model 6: is this Swin-S?"
    assert str(error.value).startswith(said)


def test_other_channels_and_heads_are_said_in_words():
    with pytest.raises(CheckpointError, match="128 channels in stage 0, the model 96;") as error:
        check_same_network(BASE, SMALL)
    assert "4 heads in stage 0, the model 3" in str(error.value)
    assert "is this Swin-B?" in str(error.value)


def test_missing_stages_are_said_in_words():
    with pytest.raises(CheckpointError, match="has 3 stages, the model 4"):
        check_same_network(Anatomy(1, 96, (2, 2, 6), {}), TINY)


def test_stages_that_the_model_does_not_build_are_no_difference():
    check_same_network(TINY, Anatomy(1, 96, (2, 2), {0: 3, 1: 6}))


def test_what_a_file_does_not_tell_is_no_difference():
    check_same_network(Anatomy(1, None, (2, 2, 6, 2), {}), TINY)


def test_a_network_of_no_paper_has_no_name():
    assert Anatomy(1, 8, (2, 2, 6, 2), {}).known_as is None
    assert Anatomy(1, 96, (2, 2), {}).known_as is None
    assert anatomy_of({"head.weight": torch.ones(1)}).known_as is None
