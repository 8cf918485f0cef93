import pytest
import torch

from swin_mm.checkpoints import CheckpointError, to_layout
from swin_mm.checkpoints.write import losses, said_losses


def test_what_a_layout_cannot_hold_is_named_by_what_it_is(build):
    tensors = build(use_abs_pos_embed=True, pretrain_img_size=16).state_dict()
    lost = losses(tensors, "torchvision")
    assert lost == [
        "absolute_pos_embed",
        *(f"norm{stage}.{kind}" for stage in (0, 1) for kind in ("weight", "bias")),
    ]
    assert said_losses(lost) == (
        "the absolute position embedding (absolute_pos_embed); norms per output "
        "(norm0.weight, norm0.bias, norm1.weight, norm1.bias)"
    )


def test_a_loss_is_refused_until_it_is_allowed(build):
    tensors = build().state_dict()
    with pytest.raises(CheckpointError, match="none for norms per output"):
        to_layout(tensors, "timm")
    written = to_layout(tensors, "timm", allow_loss=True)
    assert torch.equal(written["norm.weight"], tensors["norm2.weight"])


def test_unknown_tensors_have_no_place(build):
    tensors = {**build().state_dict(), "stages.0.blocks.0.gamma": torch.ones(8)}
    with pytest.raises(CheckpointError, match=r"none for stages\.0\.blocks\.0\.gamma"):
        to_layout(tensors, "openmmlab")


def test_half_of_what_is_one_tensor_there_is_refused(build_v2):
    for lacking in ("q_bias", "v_bias"):
        tensors = build_v2(out_indices=(2,)).state_dict()
        del tensors[f"stages.0.blocks.1.attn.w_msa.{lacking}"]
        with pytest.raises(CheckpointError, match=f"{lacking} is not. Is the network whole"):
            to_layout(tensors, "torchvision")


def test_positions_of_an_oblong_grid_are_no_image(build):
    tensors = build(use_abs_pos_embed=True, pretrain_img_size=(16, 24)).state_dict()
    with pytest.raises(CheckpointError, match=r"absolute_pos_embed \(1, 24, 8\) cannot be written"):
        to_layout(tensors, "microsoft-dense")


def test_a_layout_without_this_network_names_those_that_have_it(build):
    with pytest.raises(CheckpointError, match=r"mmpretrain has no SwinV1; .*openmmlab, microsoft"):
        to_layout(build().state_dict(), "mmpretrain")
