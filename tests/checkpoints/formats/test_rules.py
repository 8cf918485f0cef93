"""The order of merged tokens, against both definitions; every shape agrees when it is wrong."""

import torch
import torch.nn.functional as F
from torch import nn

from swin_mm.checkpoints import load_pretrained
from swin_mm.checkpoints.formats.rules import from_concatenated, to_concatenated


class MicrosoftMerging(nn.Module):
    """Patch merging as Microsoft defines it: four strided views, concatenated."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels)
        self.reduction = nn.Linear(4 * channels, 2 * channels, bias=False)

    def forward(self, x):
        views = (
            x[:, 0::2, 0::2],
            x[:, 1::2, 0::2],
            x[:, 0::2, 1::2],
            x[:, 1::2, 1::2],
        )
        return self.reduction(self.norm(torch.cat(views, dim=-1)))


def randomised(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def test_microsofts_merging_gives_the_same_numbers_after_loading(build, as_microsoft):
    model, theirs = build(), randomised(MicrosoftMerging(8))
    file = as_microsoft(model)
    for name, tensor in theirs.state_dict().items():
        file[f"layers.0.downsample.{name}"] = tensor
    load_pretrained(model, file)
    x = torch.randn(2, 6, 4, 8)
    assert torch.allclose(model.stages[0].downsample(x), theirs(x), atol=1e-5)


def test_unfolded_order_is_that_of_nn_unfold():
    picture, weight = torch.randn(1, 5, 2, 2), torch.randn(3, 20)
    tokens = picture.permute(0, 2, 3, 1)  # (1, 2, 2, C)
    concatenated = torch.cat([tokens[0, r, c] for r, c in ((0, 0), (1, 0), (0, 1), (1, 1))])
    unfolded = F.unfold(picture, 2)[0, :, 0]
    assert torch.equal(from_concatenated(concatenated), unfolded)
    assert torch.allclose(from_concatenated(weight) @ unfolded, weight @ concatenated, atol=1e-5)


def test_both_ways_undo_each_other_to_the_bit():
    tensor = torch.randn(7, 24)
    assert torch.equal(to_concatenated(from_concatenated(tensor)), tensor)
    assert torch.equal(from_concatenated(to_concatenated(tensor)), tensor)
    assert not torch.equal(from_concatenated(tensor), tensor)
