"""Load a whole classification network: a backbone of any layout, and its head."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor, nn

from swin_mm.checkpoints.containers import unwrap
from swin_mm.checkpoints.detect import detect
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.fit import ResizeBias
from swin_mm.checkpoints.heads import HEAD, head_of
from swin_mm.checkpoints.load import adapt_state_dict
from swin_mm.checkpoints.models import BACKBONE
from swin_mm.checkpoints.read import read_checkpoint
from swin_mm.checkpoints.report import LoadReport, Resized


def load_classifier(
    model: nn.Module,
    source: str | os.PathLike | Mapping,
    *,
    layout: str | None = None,
    prefix: str | None = None,
    resize_bias: ResizeBias = "bicubic",
    unsafe: bool = False,
) -> LoadReport:
    """Load a classification network from a file, whoever wrote it.

    A file without a head leaves the model's as it was drawn: the report calls it new.

    Args:
        model: has a ``backbone`` of ours and ``head.fc``, as ``swin_mm.SwinClassifier``.
        source: path or URL, or a checkpoint that has been read.
        layout: as for :func:`swin_mm.checkpoints.load_pretrained`, like all that follow.
        prefix: where the backbone is, for files that hold several.
        resize_bias: how bias tables come to other windows.
        unsafe: run the pickle's code if it wants to; only for files you trust.

    Returns:
        What became of every tensor.

    Raises:
        CheckpointError: if the file cannot be read, understood or fitted, or its head has other
            classes. The model is unchanged.
    """
    if not isinstance(source, Mapping):
        source = read_checkpoint(source, unsafe=unsafe)
    tensors, report = adapt_classifier(
        source, model, layout=layout, prefix=prefix, resize_bias=resize_bias
    )
    model.load_state_dict(tensors, strict=False)
    return report


def adapt_classifier(
    checkpoint: Mapping,
    model: nn.Module,
    *,
    layout: str | None = None,
    prefix: str | None = None,
    resize_bias: ResizeBias = "bicubic",
) -> tuple[dict[str, Tensor], LoadReport]:
    """Bring a checkpoint to a classifier's names, order and shapes; see :func:`load_classifier`.

    Returns:
        Tensors that ``model.load_state_dict(..., strict=False)`` takes, and what became of all.
    """
    unwrapped = unwrap(checkpoint)
    found = detect(unwrapped.tensors, layout=layout, prefix=prefix)
    tensors, report = adapt_state_dict(
        unwrapped.tensors,
        model.backbone,
        layout=found.layout.name,
        prefix=found.prefix,
        resize_bias=resize_bias,
    )
    head = head_of(unwrapped.tensors, found)
    given = {name: unwrapped.tensors[key] for name, key in head.items()}
    _check_head(given, model.head.fc)
    own = [f"{HEAD}.{name}" for name, _ in model.head.fc.named_parameters()]
    loaded = {f"{BACKBONE}{name}": tensor for name, tensor in tensors.items()}
    report = replace(
        report,
        container=unwrapped.container,
        loaded=(*loaded, *given),
        resized=tuple(_behind_backbone(entry) for entry in report.resized),
        reordered=tuple(f"{BACKBONE}{name}" for name in report.reordered),
        dropped=tuple(entry for entry in report.dropped if entry.name not in head.values()),
        new=(
            *(f"{BACKBONE}{name}" for name in report.new),
            *(name for name in own if name not in given),
        ),
        missing=tuple(f"{BACKBONE}{name}" for name in report.missing),
    )
    return {**loaded, **given}, report


def _behind_backbone(entry: Resized) -> Resized:
    return replace(entry, name=f"{BACKBONE}{entry.name}")


def _check_head(given: Mapping[str, Tensor], layer: nn.Linear) -> None:
    if not given:
        return
    weight, wanted = given[f"{HEAD}.weight"], layer.weight
    bias = given.get(f"{HEAD}.bias")
    fits_bias = bias is None or (layer.bias is not None and bias.shape == layer.bias.shape)
    if weight.shape == wanted.shape and fits_bias:
        return
    if weight.dim() == 2 and weight.shape[1] == wanted.shape[1]:
        raise CheckpointError(
            f"the file's head has {weight.shape[0]} classes, the model's {wanted.shape[0]}. Build "
            f"it with num_classes={weight.shape[0]}, or load the backbone alone: "
            "load_pretrained(model.backbone, file)"
        )
    shapes = [tuple(tensor.shape) for tensor in (weight, bias) if tensor is not None]
    raise CheckpointError(
        f"a head must be a linear layer from {wanted.shape[1]} channels to {wanted.shape[0]} "
        f"classes, the file's has tensors of {shapes}. Load the backbone alone: "
        "load_pretrained(model.backbone, file)"
    )
