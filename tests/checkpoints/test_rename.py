import pytest
import torch

from swin_mm.checkpoints import CheckpointError, detect, to_layout
from swin_mm.checkpoints.rename import to_our_names


def test_a_missing_part_is_one_error_that_names_it(build):
    written = to_layout(build(out_indices=(2,)).state_dict(), "huggingface")
    lacking = "encoder.layers.1.blocks.0.attention.self.key.bias"
    del written[lacking]
    with pytest.raises(CheckpointError, match=f"comes in parts.*lacks {lacking}. Is it whole"):
        to_our_names(written, detect(written))


@pytest.mark.parametrize("shape", [(), (7,), (3, 3), (0,)])
def test_parts_of_other_shapes_are_one_error(build_v2, shape):
    written = to_layout(build_v2(out_indices=(2,)).state_dict(), "torchvision")
    written["features.1.0.attn.qkv.bias"] = torch.ones(shape)
    if shape in ((3, 3), (0,)):
        to_our_names(written, detect(written))  # three parts of a wrong shape: for fit to refuse
        return
    with pytest.raises(CheckpointError, match=r"features\.1\.0\.attn\.qkv\.bias must hold 3 C"):
        to_our_names(written, detect(written))


def test_parts_that_cannot_be_joined_are_one_error(build):
    written = to_layout(build(out_indices=(2,)).state_dict(), "huggingface")
    written["encoder.layers.0.blocks.0.attention.self.key.weight"] = torch.ones(3, 3)
    with pytest.raises(CheckpointError, match=r"got \(8, 8\) float32, \(3, 3\) float32"):
        to_our_names(written, detect(written))


def test_whole_numbers_are_not_joined_to_weights(build):
    written = to_layout(build(out_indices=(2,)).state_dict(), "huggingface")
    name = "encoder.layers.0.blocks.0.attention.self.key.bias"
    written[name] = written[name].int()
    with pytest.raises(CheckpointError, match=r"one shape and kind of number, got .* int32"):
        to_our_names(written, detect(written))


def test_the_first_of_several_names_stands_for_a_joined_tensor(build):
    written = to_layout(build(out_indices=(2,)).state_dict(), "huggingface")
    renamed = to_our_names(written, detect(written))
    joined = "stages.0.blocks.0.attn.w_msa.qkv.weight"
    assert renamed.keys[joined] == "encoder.layers.0.blocks.0.attention.self.query.weight"
    assert joined in renamed.reordered


@pytest.mark.parametrize("norms_first", [True, False])
def test_norms_beside_a_backbone_go_before_the_one_within(build, same_tensors, norms_first):
    """transformers' fifth version has them so in memory, and a final norm that it does not use."""
    tensors = build().state_dict()
    inside = to_layout(tensors, "huggingface-5", allow_loss=True)
    inside = {f"module.swin.{name}": tensor for name, tensor in inside.items()}
    inside["module.swin.layernorm.weight"] = torch.full((32,), 7.0)
    beside = {
        f"module.hidden_states_norms.stage{stage + 1}.{kind}": tensors[f"norm{stage}.{kind}"]
        for stage in range(3)
        for kind in ("weight", "bias")
    }
    file = {**beside, **inside} if norms_first else {**inside, **beside}
    renamed = to_our_names(file, detect(file))
    wanted = {name: t for name, t in tensors.items() if not name.endswith("_index")}
    assert same_tensors(renamed.tensors, wanted) == []
    assert {entry.expected for entry in renamed.dropped} == {True}


def test_maskformers_own_swin_has_its_norms_beside_it_numbered_from_none(build, same_tensors):
    tensors = build().state_dict()
    outer = "model.pixel_level_module.encoder."
    inside = to_layout(tensors, "huggingface", allow_loss=True)
    file = {f"{outer}model.{name}": tensor for name, tensor in inside.items()}
    file[f"{outer}model.layernorm.weight"] = torch.full((32,), 7.0)
    file |= {
        f"{outer}hidden_states_norms.{stage}.{kind}": tensors[f"norm{stage}.{kind}"]
        for stage in range(3)
        for kind in ("weight", "bias")
    }
    file["model.pixel_level_module.decoder.fpn.stem.0.weight"] = torch.ones(1)
    found = detect(file)
    assert (found.layout.name, found.prefix) == ("huggingface", f"{outer}model.")
    renamed = to_our_names(file, found)
    assert same_tensors(renamed.tensors, tensors) == []
    assert {entry.expected for entry in renamed.dropped} == {True}
