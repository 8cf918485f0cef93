from dataclasses import replace

import numpy as np
import pytest
import torch

from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.checkpoints import CheckpointError
from swin_mm.visualization import DrawingError, build_network

SMALL = {
    "embed_dims": 8,
    "depths": (1, 1),
    "num_heads": (1, 2),
    "strides": (4, 2),
    "out_indices": (0, 1),
    "window_size": 4,
}
PIXELS = np.arange(3, dtype=np.uint8)[None, None].repeat(5, 0).repeat(7, 1)


@pytest.mark.parametrize("name", ["swin_mm.SwinTransformer", "mmdet.SwinTransformer"])
def test_a_configs_backbone_is_built_by_our_class(name):
    backbone = {"type": name, **SMALL, "with_cp": True, "init_cfg": {"type": "Pretrained"}}
    network = build_network(model={"backbone": {**backbone, "convert_weights": True}})
    assert type(network.backbone) is SwinTransformer
    assert not network.backbone.training
    assert str(network) == "Swin of 8 channels, 1-1 blocks, fresh weights"


def test_fresh_weights_are_the_same_each_time_and_draw_from_no_ones_numbers():
    before = torch.get_rng_state()
    one, other = (
        build_network(model={"backbone": {"type": "SwinTransformer", **SMALL}}) for _ in (0, 1)
    )
    weights = zip(one.backbone.parameters(), other.backbone.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_detectors_file_is_enough(tmp_path):
    backbone = SwinTransformerV2(**SMALL)
    state = {f"backbone.{name}": value for name, value in backbone.state_dict().items()}
    state["neck.weight"] = torch.zeros(1)
    torch.save({"state_dict": state}, tmp_path / "det.pth")
    network = build_network(checkpoint=str(tmp_path / "det.pth"), window=4)
    assert type(network.backbone) is SwinTransformerV2
    assert str(network) == "SwinV2 of 8 channels, 1-1 blocks, det.pth"
    loaded = network.backbone.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in backbone.state_dict().items())


def test_windows_that_a_file_does_not_tell_are_asked_for(tmp_path):
    torch.save(SwinTransformerV2(**SMALL).state_dict(), tmp_path / "a.pth")
    with pytest.raises(CheckpointError, match="how large its windows are; say it by --window"):
        build_network(checkpoint=str(tmp_path / "a.pth"))


@pytest.mark.parametrize("version", [1, 2])
def test_a_variant_is_built_by_name(version):
    network = build_network(variant="tiny", version=version, window=4)
    assert network.name == ("Swin-T", "SwinV2-T")[version - 1]
    assert network.backbone.stages[0].blocks[0].attn.w_msa.window_size == (4, 4)


def test_pictures_are_normed_as_the_config_says():
    said = {"mean": [1, 2, 3], "std": [1, 2, 4]}
    model = {"backbone": {"type": "SwinTransformer", **SMALL}}
    rgb = build_network(model={**model, "data_preprocessor": {**said, "bgr_to_rgb": True}})
    bgr = build_network(model={**model, "data_preprocessor": said})
    assert rgb.norm(PIXELS)[0, :, 0, 0].tolist() == [-1, -0.5, -0.25]
    assert bgr.norm(PIXELS)[0, :, 0, 0].tolist() == [1, -0.5, -0.75]
    plain = build_network(model=model).norm(PIXELS)
    assert plain.shape == (1, 3, 5, 7)
    assert plain[0, 0, 0, 0] == pytest.approx(-123.675 / 58.395)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"model": {"backbone": {"type": "ResNet", "depth": 50}}}, "config's backbone is ResNet"),
        ({"model": {}}, "config's backbone is none"),
        ({"variant": "huge"}, "--variant must be one of tiny, small, base, large, got 'huge'"),
        ({}, "name a network"),
        ({"variant": "tiny", "window": 0}, "cannot be built"),
        (
            {"model": {"backbone": {"type": "SwinTransformer", "depth": 50}}},
            "cannot be built: .*depth",
        ),
    ],
)
def test_what_is_no_swin_is_refused(how, message):
    with pytest.raises(DrawingError, match=message):
        build_network(**how)


def test_a_network_of_other_channels_takes_no_picture():
    model = {"backbone": {"type": "SwinTransformer", **SMALL, "in_channels": 4}}
    with pytest.raises(DrawingError, match="3 channels, this network takes 4"):
        build_network(model=model).norm(PIXELS)


def test_a_file_name_that_is_no_text_can_be_drawn():
    network = replace(
        build_network(model={"backbone": {"type": "SwinTransformer", **SMALL}}),
        weights="/a/caf\udce9.pth",
    )
    assert str(network).endswith(r", caf\udce9.pth")
