import copy
import functools

import pytest
import torch
from mmengine.runner.checkpoint import load_state_dict as mmengine_load
from torch import nn

from swin_mm.checkpoints import CheckpointError, adapt_on_load, to_layout


class Detector(nn.Module):
    """A backbone under its usual prefix, beside a head."""

    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(2, 2)


def under_backbone(tensors, head):
    return {
        **{f"backbone.{name}": tensor for name, tensor in tensors.items()},
        **{f"head.{name}": tensor for name, tensor in head.state_dict().items()},
    }


def torch_load(module, state_dict):
    module.load_state_dict(state_dict, strict=True)


@pytest.mark.parametrize("load", [torch_load, lambda m, s: mmengine_load(m, s, strict=True)])
def test_an_official_detector_loads_strictly_heads_and_all(build, as_microsoft, same_tensors, load):
    source, model = Detector(build(seed=1)), Detector(build(seed=2))
    load(model, under_backbone(as_microsoft(source.backbone), source.head))
    assert same_tensors(source.state_dict(), model.state_dict()) == []


def test_a_bare_official_file_loads_strictly(build, as_microsoft, same_tensors):
    source, model = build(seed=1), build(seed=2)
    model.load_state_dict({**as_microsoft(source), "head.weight": torch.ones(2)}, strict=True)
    assert same_tensors(source.state_dict(), model.state_dict()) == []


def test_a_detector_loads_into_its_bare_backbone(build, same_tensors):
    source, model = Detector(build(seed=1)), build(seed=2)
    model.load_state_dict(source.state_dict(), strict=True)
    assert same_tensors(source.backbone.state_dict(), model.state_dict()) == []


def test_our_own_file_passes_as_it_is(build, monkeypatch):
    """No tensor is copied or computed: resuming is exact."""
    model = build()
    state = model.state_dict()
    seen = {}
    loader = model.stages[0].blocks[0].ffn.layers[1]
    loader.register_load_state_dict_pre_hook(lambda _, state_dict, *rest: seen.update(state_dict))
    monkeypatch.setattr("swin_mm.checkpoints.hook.adapt_state_dict", None)
    monkeypatch.setattr("swin_mm.checkpoints.hook.resize_to_fit", None)
    model.load_state_dict(state, strict=True)
    name = "stages.0.blocks.0.ffn.layers.1.weight"
    assert seen[name] is state[name]


def test_strict_loading_of_our_own_names_stays_strict(build):
    state = build().state_dict()
    del state["stages.1.blocks.0.norm1.weight"]
    state["stages.9.blocks.0.norm1.weight"] = torch.ones(1)
    with pytest.raises(RuntimeError) as error:
        build().load_state_dict(state, strict=True)
    assert "stages.1.blocks.0.norm1.weight" in str(error.value)
    assert "stages.9.blocks.0.norm1.weight" in str(error.value)


def test_norms_that_an_official_file_lacks_are_missing_to_strict_loading(build, as_imagenet):
    with pytest.raises(RuntimeError, match=r'Missing key.*"norm0\.weight"'):
        build().load_state_dict(as_imagenet(build())["model"], strict=True)


def test_mask_buffers_of_older_files_are_left_out(build, same_tensors):
    source, model = build(seed=1), build(seed=2)
    mask = {"stages.0.blocks.1.attn_mask": torch.zeros(1)}
    model.load_state_dict({**source.state_dict(), **mask}, strict=True)
    assert same_tensors(source.state_dict(), model.state_dict()) == []


def test_a_model_without_memory_takes_our_file(build, same_tensors):
    source = build(seed=1)
    with torch.device("meta"):
        model = build(seed=2)
    model.load_state_dict(source.state_dict(), strict=True, assign=True)
    parameters = dict(source.named_parameters())
    assert same_tensors(parameters, dict(model.named_parameters())) == []


def test_what_was_changed_is_said_once(build, as_microsoft):
    said = []
    model = build(window_size=4)
    model.register_load_state_dict_pre_hook(functools.partial(adapt_on_load, log=said.append))
    model._load_state_dict_pre_hooks.popitem(last=False)  # the model's own hook comes first
    model.load_state_dict(build().state_dict())
    model.load_state_dict(as_microsoft(build()))
    model.load_state_dict(model.state_dict())
    assert said[0] == "8 tensors of the checkpoint resized (window 3x3 -> 4x4)"
    assert said[1].startswith("layout microsoft-dense: ")
    assert len(said) == 2


def test_our_own_file_of_another_window_is_resized(build, same_tensors):
    source, model, wanted = build(seed=1), Detector(build(window_size=4)), build(window_size=4)
    wanted.load_state_dict(source.state_dict(), strict=True)
    model.load_state_dict(under_backbone(source.state_dict(), model.head), strict=True)
    assert same_tensors(wanted.state_dict(), model.backbone.state_dict()) == []
    index = model.backbone.stages[0].blocks[0].attn.w_msa.relative_position_index
    assert index.shape == (16, 16)
    assert model.backbone(torch.randn(1, 3, 20, 20))[0].isfinite().all()


def test_tables_of_one_shape_but_other_windows_are_not_mixed_up(build):
    source, model = build(seed=1, window_size=(2, 4)), build(seed=2, window_size=(4, 2))
    plain = source.state_dict()["stages.0.blocks.0.attn.w_msa.relative_position_bias_table"]
    model.load_state_dict(source.state_dict(), strict=True)
    table = model.stages[0].blocks[0].attn.w_msa.relative_position_bias_table
    assert table.shape == plain.shape and not torch.equal(table, plain)


def test_a_few_tensors_of_ours_may_be_loaded_alone(build):
    model = build()
    model.load_state_dict({"norm0.weight": torch.full((8,), 5.0)}, strict=False)
    assert torch.equal(model.norm0.weight, torch.full((8,), 5.0))


def test_nothing_for_the_backbone_is_no_error(build):
    model = Detector(build())
    head = {"head.bias": torch.ones(2)}
    assert model.load_state_dict(head, strict=False).unexpected_keys == []


@pytest.mark.parametrize("strict", [True, False])
def test_another_networks_backbone_is_refused(build, strict):
    model = Detector(build())
    resnet = {"backbone.conv1.weight": torch.ones(1), "head.bias": torch.ones(2)}
    with pytest.raises(CheckpointError, match=r"under 'backbone\.': no Swin found"):
        model.load_state_dict(resnet, strict=strict)


def test_an_official_file_of_other_depth_is_refused_even_leniently(build, as_microsoft):
    file = under_backbone(as_microsoft(build(depths=(2, 2, 6))), nn.Linear(2, 2))
    with pytest.raises(CheckpointError, match="depth 6 in stage 2, the model 4"):
        mmengine_load(Detector(build()), file, strict=False)


def test_a_copy_of_a_model_loads_into_itself(build, as_microsoft, same_tensors):
    model, source = build(window_size=4), build(seed=1)
    twin = copy.deepcopy(model)
    before = copy.deepcopy(model.state_dict())
    twin.load_state_dict(as_microsoft(source))
    assert same_tensors(model.state_dict(), before) == []
    assert same_tensors(twin.state_dict(), before) != []


def test_stages_and_norms_of_outputs_not_asked_for_are_dropped(build, same_tensors):
    whole, part = build(seed=1), build(seed=2, out_indices=(0, 1))
    part.load_state_dict(whole.state_dict(), strict=True)
    own = {name: whole.state_dict()[name] for name in part.state_dict()}
    assert same_tensors(part.state_dict(), own) == []


def test_what_no_rule_covers_is_still_reported(build):
    model = build()
    with pytest.raises(RuntimeError, match=r"stages\.0\.blocks\.0\.extra"):
        model.load_state_dict({**model.state_dict(), "stages.0.blocks.0.extra": torch.ones(1)})


def test_mmpretrains_swin_v2_is_taken_though_its_names_are_nearly_ours(build_v2, same_tensors):
    source, model = build_v2(seed=1), build_v2(seed=2)
    file = to_layout(source.state_dict(), "mmpretrain")
    detector = torch.nn.ModuleDict({"backbone": model})
    detector.load_state_dict({f"backbone.{name}": tensor for name, tensor in file.items()})
    assert same_tensors(source.state_dict(), model.state_dict()) == []


def test_a_deeper_networks_file_of_our_names_is_refused_though_not_strict(build):
    with pytest.raises(CheckpointError, match="depth 6 in stage 2, the model 4"):
        build().load_state_dict(build(depths=(2, 2, 6)).state_dict(), strict=False)


CONVNEXT = {"stages.0.0.gamma": torch.ones(8), "stages.0.0.norm.weight": torch.ones(8)}
CONVNEXT |= {f"norm{stage}.weight": torch.ones(8 * 2**stage) for stage in range(3)}
SWIN_V2_CR = {"stages.0.blocks.0.attn.qkv.weight": torch.ones(24, 8)}
SWIN_V2_CR |= {"stages.0.blocks.0.attn.meta_mlp.fc1.weight": torch.ones(384, 2)}


@pytest.mark.parametrize("file", [CONVNEXT, SWIN_V2_CR])
@pytest.mark.parametrize("prefix", ["", "backbone."])
def test_networks_with_stages_of_their_own_are_refused_though_not_strict(build, file, prefix):
    model = torch.nn.ModuleDict({"backbone": build()}) if prefix else build()
    with pytest.raises(CheckpointError, match="no Swin found"):
        model.load_state_dict({prefix + k: t for k, t in file.items()}, strict=False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"embed_dims": 16, "num_heads": (1, 2, 4)}, "16 channels in stage 0, the model 8"),
        ({"num_heads": (2, 4, 8)}, "2 heads in stage 0, the model 1"),
        ({"depths": (2, 2, 2)}, "depth 2 in stage 2, the model 4"),
        ({"out_indices": (0, 1)}, "2 stages, the model 3"),
    ],
)
def test_a_whole_network_of_other_sizes_is_refused_though_not_strict(build, changes, said):
    with pytest.raises(CheckpointError, match=said):
        mmengine_load(build(), build(**changes).state_dict())


def test_a_file_of_the_first_version_is_refused_by_the_second_though_not_strict(build, build_v2):
    with pytest.raises(CheckpointError, match="is a Swin, the model a SwinV2"):
        build_v2().load_state_dict(build().state_dict(), strict=False)


def test_a_part_of_a_network_is_no_other_network(build):
    source, model = build(seed=1), build(seed=2)
    part = {n: t for n, t in source.state_dict().items() if n.startswith(("stages.1.", "norm"))}
    model.load_state_dict(part, strict=False)
    assert torch.equal(model.norm1.weight, source.norm1.weight)
    assert not torch.equal(model.patch_embed.norm.weight, source.patch_embed.norm.weight)


def test_a_converted_classifiers_norm_is_the_last_stages(build):
    source, model = build(seed=1), build(seed=2)
    file = dict(source.state_dict())
    for kind in ("weight", "bias"):
        file[f"norm.{kind}"] = file.pop(f"norm2.{kind}")
        del file[f"norm0.{kind}"], file[f"norm1.{kind}"]
    model.load_state_dict(file, strict=False)
    assert torch.equal(model.norm2.weight, source.norm2.weight)


def test_a_swin_v2_is_refused_by_the_first_version_though_not_strict(build, build_v2):
    with pytest.raises(CheckpointError, match="is a SwinV2, the model a Swin"):
        build().load_state_dict(build_v2().state_dict(), strict=False)
