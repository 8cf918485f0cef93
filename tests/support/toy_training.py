"""A few steps of SGD on random pictures, by one process or a share of them by each of several."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import torch
from mmengine.registry import init_default_scope
from random_weights import randomise
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

import swin_mm.layers.chunk_job
import swin_mm.ops.chunks
from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.ops.attention import prefer_attention
from swin_mm.ops.chunks import ChunkCache

PICTURES, SIZE = 4, (64, 92)  # px
STEPS, RATE = 5, 0.05
Outcome = dict[str, dict[str, Tensor]]
NARROW = {
    "embed_dims": 8,
    "depths": (2, 2, 1, 1),
    "num_heads": (1, 2, 2, 4),
    "drop_path_rate": 0.0,
}


@dataclass(frozen=True)
class Case:
    """What to train, and how.

    Attributes:
        model: `backbone` with a toy head, or `upernet`.
        version: of Swin Transformer.
        path: `chunks` of a few windows, or `modules` one after the other.
        dtype: of the weights.
        options: of the backbone.
    """

    model: str = "backbone"
    version: int = 1
    path: str = "chunks"
    dtype: str = "float64"
    options: dict[str, Any] = field(default_factory=dict)


class WithHead(nn.Module):
    """A backbone, and a linear layer on each of its maps."""

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = nn.ModuleList(nn.Conv2d(width, 3, 1) for width in backbone.out_channels)

    def forward(self, pictures: Tensor) -> list[Tensor]:
        """Map (B, 3, H, W) to (B, 3, H_i, W_i) for each map."""
        return [head(one) for head, one in zip(self.heads, self.backbone(pictures), strict=True)]


def backbone_of(case: Case) -> nn.Module:
    """Build the backbone of a case, its weights as they come."""
    kind = {1: SwinTransformer, 2: SwinTransformerV2}[case.version]
    return kind(**{**NARROW, **case.options})


def build(case: Case) -> nn.Module:
    """Build a case's model with random weights, in training but for norms over a batch."""
    torch.manual_seed(0)
    model = WithHead(backbone_of(case)) if case.model == "backbone" else upernet(case)
    randomise(model)
    for name, buffer in model.named_buffers():
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2)
    model.to(getattr(torch, case.dtype)).train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval().requires_grad_(False)
    return model


def upernet(case: Case) -> nn.Module:
    """Build a UPerNet of MMSegmentation's with its auxiliary head, without dropout."""
    import mmseg.models  # noqa: F401 - registers
    from mmseg.registry import MODELS

    init_default_scope("mmseg")
    widths = [NARROW["embed_dims"] * 2**stage for stage in range(4)]
    head = {
        "num_classes": 3,
        "channels": 8,
        "dropout_ratio": 0,
        "norm_cfg": {"type": "BN"},
        "align_corners": False,
    }
    name = {1: "SwinTransformer", 2: "SwinTransformerV2"}[case.version]
    return MODELS.build(
        {
            "type": "EncoderDecoder",
            "data_preprocessor": {"type": "SegDataPreProcessor", "size": (64, 96)},
            "backbone": {"type": f"swin_mm.{name}", **NARROW, **case.options},
            "decode_head": {
                "type": "UPerHead",
                "in_channels": widths,
                "in_index": [0, 1, 2, 3],
                "pool_scales": (1, 2),
                **head,
            },
            "auxiliary_head": {
                "type": "FCNHead",
                "in_channels": widths[2],
                "in_index": 2,
                "num_convs": 1,
                "concat_input": False,
                **head,
            },
            "train_cfg": {},
            "test_cfg": {"mode": "whole"},
        }
    )


Batch = tuple[Tensor, list[Any]]


def batch_of(case: Case, step: int, rank: int = 0, ranks: int = 1) -> Batch:
    """A rank's share of a step's pictures, (B, 3, H, W), and of their truth."""
    generator = torch.Generator().manual_seed(100 + step)
    share = slice(rank * PICTURES // ranks, (rank + 1) * PICTURES // ranks)
    pictures = torch.randn(PICTURES, 3, *SIZE, generator=generator)
    if case.model == "backbone":
        widths = (torch.randn(PICTURES, 3, 1, 1, generator=generator) for _ in range(4))
        truth = [width[share].to(getattr(torch, case.dtype)) for width in widths]
    else:
        labels = torch.randint(0, 3, (PICTURES, 1, *SIZE), generator=generator)
        truth = [_sample(label) for label in labels[share]]
    return pictures[share].to(getattr(torch, case.dtype)), truth


def _sample(label: Tensor) -> Any:
    from mmengine.structures import PixelData
    from mmseg.structures import SegDataSample

    sample = SegDataSample(gt_sem_seg=PixelData(data=label))
    sample.set_metainfo({"img_shape": SIZE, "ori_shape": SIZE})
    return sample


def loss_of(case: Case, model: Callable, batch: Batch) -> Tensor:
    """The mean over a batch's pictures of a loss."""
    pictures, truth = batch
    if case.model == "backbone":
        pairs = zip(model(pictures), truth, strict=False)
        return sum((out - target).square().mean() for out, target in pairs)
    losses = model(pictures, truth, mode="loss")
    return sum(value for name, value in losses.items() if "loss" in name)


@contextmanager
def path_of(case: Case) -> Iterator[None]:
    """Take the case's path through the blocks, several chunks to a map, and see that it was."""
    chunks = ChunkCache()
    with (
        patch.object(swin_mm.ops.chunks, "BYTES", 800),
        patch.object(swin_mm.layers.chunk_job, "CHUNKS", chunks),
        prefer_attention("reference") if case.path == "modules" else nullcontext(),
    ):
        yield
    assert (chunks.size > 0) == (case.path == "chunks"), f"{case} took the other path"


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """SGD with momentum on what learns."""
    learns = [one for one in model.parameters() if one.requires_grad]
    return torch.optim.SGD(learns, lr=RATE, momentum=0.9)


def take_steps(
    case: Case,
    model: Callable,
    optimizer: torch.optim.Optimizer,
    *,
    steps: Iterable[int] = range(STEPS),
    rank: int = 0,
    ranks: int = 1,
) -> Iterator[int]:
    """Train, and pause when a step's gradients are there and before its weights are.

    Args:
        case: what is trained.
        model: it, or what wraps it.
        optimizer: of its parameters.
        steps: which; each has its own batch.
        rank: number of this process.
        ranks: how many share a batch.
    """
    with path_of(case):
        for step in steps:
            optimizer.zero_grad()
            loss_of(case, model, batch_of(case, step, rank, ranks)).backward()
            yield step
            optimizer.step()


def outcome(case: Case, model: nn.Module, *, rank: int = 0, ranks: int = 1) -> Outcome:
    """Train, and tell the gradients of the first step and the weights after the last, by name."""
    inner, optimizer = getattr(model, "module", model), optimizer_of(model)
    for step in take_steps(case, model, optimizer, rank=rank, ranks=ranks):
        if step == 0:
            gradients = {n: whole(p.grad) for n, p in inner.named_parameters() if p.requires_grad}
    return {"gradients": gradients, "weights": weights_of(inner)}


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Copy a model's parameters, gathered where they are divided."""
    return {name: whole(parameter) for name, parameter in model.named_parameters()}


def whole(tensor: Tensor) -> Tensor:
    """Copy a tensor, gathered if it is divided."""
    tensor = tensor.detach()
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor.clone()


def furthest(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> float:
    """The difference by the value, as lengths, of the tensor where that is largest."""
    assert found.keys() == wanted.keys()
    return max(float((found[name] - one).norm() / one.norm()) for name, one in wanted.items())


def apart(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> float:
    """The difference by the value, as lengths, of all tensors as one."""
    assert found.keys() == wanted.keys()
    ours, theirs = (torch.cat([one[name].flatten() for name in wanted]) for one in (found, wanted))
    return float((ours - theirs).norm() / theirs.norm())
