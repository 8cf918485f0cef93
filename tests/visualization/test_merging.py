import pytest
from torch import nn

from swin_mm.layers import PatchMerging
from swin_mm.visualization import draw_merging


def boxes_of(merging):
    """Which neighbour each feature is drawn as, feature after feature."""
    texts = [text.get_text() for text in draw_merging(merging).axes[1].texts]
    return [text for text in texts if "," in text and len(text) == 3], texts


def test_features_are_drawn_in_the_order_of_the_module():
    boxes, texts = boxes_of(PatchMerging(8, 16, stride=2, norm=nn.LayerNorm))
    assert boxes == ["0,0", "0,1", "1,0", "1,1"] * 3
    assert {"channel 0", "channel 1", "channel 2", "norm", "Linear, 32 to 16"} <= {*texts}


def test_another_order_would_be_drawn_as_it_is(monkeypatch):
    real = PatchMerging.forward
    monkeypatch.setattr(PatchMerging, "forward", lambda self, x: real(self, x.transpose(1, 2)))
    boxes, _ = boxes_of(PatchMerging(8, 16, stride=2, norm=None))
    assert boxes == ["0,0", "1,0", "0,1", "1,1"] * 3


@pytest.mark.parametrize(("norm", "shown"), [(nn.LayerNorm, True), (None, False)])
def test_a_norm_is_drawn_where_there_is_one(norm, shown):
    _, texts = boxes_of(PatchMerging(8, 16, stride=2, norm=norm))
    assert ("norm" in texts) == shown
