import pytest
import torch

import swin_mm
from swin_mm.checkpoints import CheckpointError, describe, load_pretrained, to_layout
from swin_mm.checkpoints.anatomy import Anatomy


def test_a_file_is_told_in_a_few_lines(build, as_imagenet):
    told = str(describe({**as_imagenet(build()), "epoch": 3}))
    lines = dict(line.split(maxsplit=1) for line in told.splitlines())
    assert lines["layout"] == "microsoft (SwinV1) in 'model'"
    assert lines["network"] == "a Swin of no paper's size"
    assert lines["windows"] == "3x3, 3x3, 3x3"
    assert lines["patch"] == "4x4 px of 3 channels"
    assert lines["norms"] == "the last stage's alone"
    assert lines["head"] == "10 classes"
    assert lines["beside"] == "nothing"


def test_what_stands_beside_and_what_is_unknown_is_told(build, as_microsoft):
    file = {f"backbone.{name}": tensor for name, tensor in as_microsoft(build()).items()}
    file |= {"neck.a": torch.ones(1), "backbone.layers.0.gamma": torch.ones(2).half()}
    told = describe(file)
    assert dict(told.outside) == {"neck": 1}
    assert told.unknown == ("backbone.layers.0.gamma",)
    assert told.norms == (0, 1, 2)
    assert told.dtypes[torch.float16] == 2
    assert "unknown     backbone.layers.0.gamma" in str(told)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"window_size": (5, 3, 2)},
        {"patch_size": 2, "strides": (2, 2, 2), "in_channels": 1},
        {"patch_norm": False, "qkv_bias": False, "mlp_ratio": 2.5},
        {"use_abs_pos_embed": True, "pretrain_img_size": 16},
        {"out_indices": (0, 2)},
    ],
)
def test_the_arguments_build_what_is_in_the_file(build_either, changes, version):
    source = build_either(version, **changes)
    arguments = describe(source.state_dict()).arguments()
    kind = swin_mm.SwinTransformer if version == 1 else swin_mm.SwinTransformerV2
    if version == 2 and "window_size" in changes:
        arguments["window_size"] = changes["window_size"]  # the file does not tell
    report = load_pretrained(kind(**arguments), source.state_dict())
    assert report.resized == report.missing == report.new == report.surprises == ()


@pytest.mark.parametrize("variant", ["tiny", "small", "base", "large"])
def test_a_published_network_is_known_by_its_name(variant):
    with torch.device("meta"):
        state = swin_mm.SwinTransformer(variant=variant).state_dict()
    told = describe(state)
    assert told.anatomy.known_as == f"Swin-{variant[0].upper()}"
    assert told.arguments() == {"variant": variant}


def test_an_oblong_window_that_nothing_tells_is_unknown(build):
    state = to_layout(build(window_size=(2, 4), out_indices=(2,)).state_dict(), "timm")
    assert "windows     unknown, unknown, unknown" in str(describe(state))


def test_another_networks_file_is_one_error():
    with pytest.raises(CheckpointError, match="no Swin found"):
        describe({"conv1.weight": torch.ones(1)})


def test_two_stages_of_two_windows_are_not_taken_for_an_oblong_one(build):
    changes = {"depths": (1, 1), "num_heads": (1, 2), "strides": (4, 2), "out_indices": (0, 1)}
    source = build(window_size=((2, 2), (3, 3)), **changes)
    arguments = describe(source.state_dict()).arguments()
    assert arguments["window_size"] == ((2, 2), (3, 3))
    assert load_pretrained(build(**arguments), source.state_dict()).resized == ()


def test_parts_beside_a_wrapped_backbone_are_named_without_the_wrapper(build):
    state = {f"module.backbone.{name}": tensor for name, tensor in build().state_dict().items()}
    assert dict(describe({**state, "module.neck.a": torch.ones(1)}).outside) == {"neck": 1}


def test_the_published_sizes_are_the_backbones_variants():
    for name, variant in swin_mm.VARIANTS.items():
        anatomy = Anatomy(1, variant.embed_dims, variant.depths, dict(enumerate(variant.num_heads)))
        assert anatomy.is_published and anatomy.variant == name
