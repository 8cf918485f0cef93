import torch
from torch import nn

from swin_mm.inference.half_precision import halve


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(3, 3)
        self.inside = None

    def extract_feat(self, x):
        maps = self.backbone(x)
        self.inside = maps.dtype
        return (maps, [maps, maps])


def test_the_backbone_runs_in_half_precision_and_heads_get_floats():
    network = Network()
    halve(network)
    one, (two, _) = network.extract_feat(torch.randn(2, 3))
    assert network.inside == torch.bfloat16
    assert one.dtype == two.dtype == torch.float32
