import pytest
import torch
from torch import nn

from swin_mm.export import ExportError, Pixels, Segmentor, take_part
from swin_mm.export.parts import describe


class Detector(nn.Module):
    def __init__(self, backbone, neck=None):
        super().__init__()
        self.backbone = backbone
        self.neck = neck


def test_a_backbone_is_taken_out(build):
    model = Detector(build(depths=(1, 1)))
    assert take_part(model, "backbone") is model.backbone


def test_a_neck_comes_with_its_backbone(build):
    from mmdet.models.necks import FPN

    model = Detector(build(depths=(1, 1)), FPN([8, 16], 4, num_outs=3))
    maps = take_part(model, "neck")(torch.rand(2, 3, 30, 20))
    assert [tuple(out.shape) for out in maps] == [(2, 4, 8, 5), (2, 4, 4, 3), (2, 4, 2, 2)]


@pytest.mark.parametrize("head", ["UPerHead", "FPNHead"])
def test_a_segmentor_gives_the_logits_that_its_host_gives(segmentor, head):
    model = segmentor(head)
    pixels = Pixels("RGB", (120.0, 110.0, 100.0), (50.0, 60.0, 70.0))
    network = take_part(model, "model", pixels=pixels)
    bgr = torch.randint(0, 256, (3, 45, 62), dtype=torch.uint8)
    with torch.no_grad():
        packed = model.data_preprocessor({"inputs": [bgr]})
        expected = model.predict(packed["inputs"])[0].seg_logits.data
        found = network(bgr.flip(0)[None].float())[0]
    torch.testing.assert_close(found, expected)


def test_what_trains_a_segmentor_stays_behind(segmentor):
    model = segmentor()
    model.auxiliary_head = nn.Conv2d(1, 1, 1)
    names = {name.partition(".")[0] for name in Segmentor(model, Pixels.of({})).state_dict()}
    assert names == {"backbone", "head", "mean", "std"}


def test_a_whole_detector_is_refused_and_the_neck_named(build):
    with pytest.raises(ExportError, match=r"whole detector .*--part neck"):
        take_part(Detector(build(depths=(1, 1)), nn.Identity()), "model")


def test_a_neck_that_is_not_there_is_told(build):
    with pytest.raises(ExportError, match="no neck: export --part backbone"):
        take_part(Detector(build(depths=(1, 1))), "neck")


def test_a_backbone_of_others_is_told():
    with pytest.raises(ExportError, match=r"got Conv2d: set model.backbone.type=swin_mm"):
        take_part(Detector(nn.Conv2d(3, 8, 1)), "backbone")


def test_a_part_that_is_none_is_told(build):
    with pytest.raises(ExportError, match="backbone, neck, model, got 'head'"):
        take_part(Detector(build(depths=(1, 1))), "head")


def test_a_head_without_logits_for_every_pixel_is_told(segmentor):
    model = segmentor()
    model.decode_head = nn.Identity()
    with pytest.raises(ExportError, match="EncoderDecoder with Identity"):
        take_part(model, "model")


def test_padding_in_tests_is_told(segmentor):
    model = segmentor()
    model.data_preprocessor.test_cfg = {"size_divisor": 32}
    with pytest.raises(ExportError, match=r"data_preprocessor\.test_cfg=None"):
        take_part(model, "model")


class Pyramid(nn.Module):
    """A neck that does not say how many maps it returns, one more than it takes."""

    def forward(self, maps):
        return (*maps, maps[-1][..., ::2, ::2])


def test_the_outputs_of_a_neck_are_counted(build):
    network = take_part(Detector(build(depths=(1, 1)), Pyramid()), "neck")
    assert describe(network, "neck", None).outputs == ("map0", "map1", "map2")


def test_a_neck_of_other_channels_is_told(build):
    from mmdet.models.necks import FPN

    network = take_part(Detector(build(depths=(1, 1)), FPN([4, 8], 4, num_outs=2)), "neck")
    with pytest.raises(ExportError, match="do not run together: Given groups=1"):
        describe(network, "neck", None)
