import pytest
import torch

from swin_mm.checkpoints import CheckpointError, to_layout
from swin_mm.export import ExportError, load_part


@pytest.fixture
def host(segmentor):
    """Have the host imported, as a tool does."""
    return segmentor


def test_a_backbone_takes_any_published_layout(segmentor_cfg, host, build, tmp_path):
    network = build()
    torch.save({"model": to_layout(network.state_dict(), "microsoft-dense")}, tmp_path / "m.pth")
    loaded, description = load_part(segmentor_cfg(), str(tmp_path / "m.pth"), "backbone")
    x = torch.rand(1, 3, 30, 40)
    for ours, theirs in zip(loaded(x), network(x), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert description.outputs == ("map0", "map1") and description.strides == (4, 8)
    assert description.pixels.mean == (120.0, 110.0, 100.0)
    assert not description.normalises and not loaded.training


def test_a_segmentor_brings_its_classes_and_normalises(segmentor_cfg, host, tmp_path):
    model = host()
    content = {"state_dict": model.state_dict()}
    content["meta"] = {"dataset_meta": {"classes": ("sky", "sea", "land")}}
    torch.save(content, tmp_path / "s.pth")
    loaded, description = load_part(segmentor_cfg(), str(tmp_path / "s.pth"), "model")
    assert description.classes == ("sky", "sea", "land")
    assert description.normalises and description.input == "pixels"
    weight = loaded.state_dict()["head.conv_seg.weight"]
    assert torch.equal(weight, model.decode_head.conv_seg.weight)


def test_without_a_checkpoint_weights_are_drawn(segmentor_cfg, host):
    network, description = load_part(segmentor_cfg("FPNHead"), None, "neck")
    assert description.outputs == ("map0", "map1")
    assert [out.shape[1] for out in network(torch.rand(1, 3, 8, 8))] == [8, 8]


def test_a_backbone_alone_fills_no_segmentor(segmentor_cfg, host, build, tmp_path):
    torch.save({"model": build().state_dict()}, tmp_path / "b.pth")
    with pytest.raises(CheckpointError, match="does not fill"):
        load_part(segmentor_cfg(), str(tmp_path / "b.pth"), "model")


def test_a_model_that_cannot_be_built_is_told(segmentor_cfg, host):
    cfg = segmentor_cfg()
    cfg.model.backbone.depths = (1, 2, 3)
    with pytest.raises(ExportError, match="cannot be built"):
        load_part(cfg, None, "backbone")
    cfg = segmentor_cfg()
    cfg.model.decode_head.pool_scales = 3  # the host's own error is a TypeError or worse
    cfg.model.decode_head.in_index = None
    with pytest.raises(ExportError, match="cannot be built"):
        load_part(cfg, None, "model")
