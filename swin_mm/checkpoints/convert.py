"""Rewrite a file in another layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from swin_mm.checkpoints.containers import unwrap
from swin_mm.checkpoints.coordinates import COORDINATES
from swin_mm.checkpoints.detect import Found, detect, table_of
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.fit import ResizeBias
from swin_mm.checkpoints.formats import Layout
from swin_mm.checkpoints.formats.patterns import fill
from swin_mm.checkpoints.heads import head_of
from swin_mm.checkpoints.rename import to_our_names
from swin_mm.checkpoints.report import said_sides
from swin_mm.checkpoints.resize import adapt_in_channels
from swin_mm.checkpoints.windows import Windows, by_stage, windows_of, with_window
from swin_mm.checkpoints.write import losses, said_losses, to_layout

_PATCHES = "patch_embed.projection.weight"
_DETECTORS = ("openmmlab", "microsoft-dense")

TARGETS = (
    *("microsoft", "microsoft-dense", "openmmlab", "mmpretrain", "timm", "torchvision"),
    *("huggingface", "huggingface-backbone", "detectron2"),
)
"""What a file can be converted to."""


@dataclass(frozen=True)
class Conversion:
    """A file in another layout.

    Attributes:
        content: what to save: tensors, in the container that the family's code expects.
        tensors: the tensors alone, by the names they have there.
        source: what the file was.
        lost: what the layout could not hold, in words; empty if nothing.
        notes: what else a user should know, in words.
    """

    content: dict[str, Any]
    tensors: dict[str, Tensor]
    source: Found
    lost: tuple[str, ...]
    notes: tuple[str, ...]


def convert(
    checkpoint: Mapping,
    to: str,
    *,
    layout: str | None = None,
    prefix: str | None = None,
    window: Windows | None = None,
    pretrained_window: Windows | None = None,
    in_channels: int | None = None,
    resize_bias: ResizeBias = "bicubic",
    allow_loss: bool = False,
) -> Conversion:
    """Rewrite a checkpoint in another layout.

    A detector's neck and heads are kept between OpenMMLab's layout and the authors' detectors',
    which name them alike; a classifier's head is kept wherever there are classifiers.

    Args:
        checkpoint: what has been read of any layout.
        to: one of :data:`TARGETS`.
        layout: overrules the detection.
        prefix: where the backbone is, for files that hold several.
        window: height and width of the windows it is to have, or one of these a stage, tokens;
            ``None`` as they are.
        pretrained_window: likewise, of the windows that a SwinV2's bias was learned on, where the
            file does not say.
        in_channels: of the pictures it is to take; ``None`` as they are.
        resize_bias: how bias tables come to other windows.
        allow_loss: leave out what the layout cannot hold.

    Raises:
        CheckpointError: if the file is not understood, or the layout cannot hold all of it.
    """
    if to not in TARGETS:
        raise CheckpointError(f"a layout to convert to must be one of {TARGETS}, got {to!r}")
    if in_channels is not None and not (isinstance(in_channels, int) and in_channels > 0):
        raise CheckpointError(f"pictures must have at least one channel, got {in_channels!r}")
    unwrapped = unwrap(checkpoint)
    found = detect(unwrapped.tensors, layout=layout, prefix=prefix)
    version = found.layout.version
    if to == "detectron2" and version == 2:
        raise CheckpointError("detectron2 has no SwinV2; choose another layout")
    name = "microsoft-dense" if to == "detectron2" else to
    table = table_of(name, version)
    renamed = to_our_names(unwrapped.tensors, found)
    head = head_of(unwrapped.tensors, found)
    rest = {
        key.removeprefix(found.outer): tensor
        for key, tensor in unwrapped.tensors.items()
        if key.startswith(found.outer)
        and not key.startswith(found.prefix)
        and key not in head.values()
    }

    tensors = renamed.tensors
    if in_channels is not None:
        tensors[_PATCHES] = _with_channels(tensors.get(_PATCHES), in_channels)
    notes = [] if head or rest or table.head is None else ["the file has no classifier's head"]
    silent = version == 2 and None in dict(windows_of(tensors)).values()
    if pretrained_window is not None and not silent:
        raise CheckpointError(
            "pretrained windows are for files of a SwinV2 that do not say them, and this one needs "
            "none. Leave them out (--pretrained-window)"
        )
    if silent and window is not None and pretrained_window is None:
        notes.append("the file does not say its pretrained windows, taken as those that were given")
    before = tensors
    tensors = with_window(
        tensors,
        window,
        pretrained=pretrained_window,
        resize_bias=resize_bias,
        needed=to == "torchvision",
    )

    notes += _said_windows(before, tensors, table, resize_bias)

    keeps_rest = name in _DETECTORS and found.layout.name in _DETECTORS and to != "detectron2"
    keeps_head = table.head is not None
    lost = [said for said in [said_losses(losses(tensors, name))] if said]
    lost += [] if table.oblong else _oblong(tensors)
    lost += [f"{entry.name} ({entry.why})" for entry in renamed.dropped if not entry.expected]
    if rest and not keeps_rest:
        parts = dict.fromkeys(key.partition(".")[0] for key in rest)
        lost.append(f"what stands beside the backbone ({', '.join(parts)}: {len(rest)} tensors)")
    if head and not keeps_head:
        lost.append("the classifier's head")
    if lost and not allow_loss:
        raise CheckpointError(
            f"the layout {to} must hold all that is in the file; it cannot hold "
            f"{'; '.join(lost)}. Choose another layout, or allow the loss (--allow-loss)"
        )

    place = _prefix(to, version, whole=bool((rest and keeps_rest) or (head and keeps_head)))
    written = {
        place + key: tensor
        for key, tensor in to_layout(tensors, name, allow_loss=allow_loss).items()
    }
    if keeps_rest:
        written |= rest
    if keeps_head:
        beside = "" if to in ("huggingface", "openmmlab", "mmpretrain") else place
        for ours, key in head.items():
            kind = ours.rpartition(".")[2]
            target = beside + fill(table.head, {"t": kind}, found.last)
            written[target] = unwrapped.tensors[key]
    return Conversion(
        content=_contained(written, to, checkpoint),
        tensors=written,
        source=found,
        lost=tuple(lost),
        notes=tuple(notes),
    )


def _said_windows(
    before: Mapping[str, Tensor], after: Mapping[str, Tensor], table: Layout, resize_bias: str
) -> list[str]:
    """Say how windows changed, and what a SwinV2's file will not say of them."""
    old, new = (by_stage(tensors) for tensors in (before, after))
    notes = []
    if None not in (*old, *new) and old != new:
        changed = f"window {said_sides(one.window for one in old)} -> "
        changed += said_sides(one.window for one in new)
        how = f", tables resized, {resize_bias}" if table.version == 1 else ""
        notes.append(changed + how)
    records = any(row.writes and row.our_names[0].endswith(COORDINATES) for row in table.rows)
    if table.version == 2 and None not in new and not records:
        notes.append(
            f"files of {table.name} do not say a SwinV2's windows: build it with window "
            f"{said_sides(one.window for one in new)}, pretrained on "
            f"{said_sides(one.pretrained for one in new)}"
        )
    return notes


def _with_channels(weight: Tensor | None, channels: int) -> Tensor:
    if weight is None or weight.dim() != 4 or weight.shape[1] not in (3, channels):
        shape = None if weight is None else tuple(weight.shape)
        raise CheckpointError(
            "the patch convolution of colour pictures, (C, 3, h, w), can be brought to other "
            f"channels; the file's is {shape}"
        )
    return weight if weight.shape[1] == channels else adapt_in_channels(weight, channels)


def _oblong(tensors: Mapping[str, Tensor]) -> list[str]:
    geometries = [geometry for _, geometry in windows_of(tensors) if geometry is not None]
    sides = {entry.window for entry in geometries if entry.window[0] != entry.window[1]}
    said = ", ".join(f"{height}x{width}" for height, width in sorted(sides))
    return [f"oblong windows ({said})"] if said else []


def _prefix(to: str, version: int, *, whole: bool) -> str:
    if to == "huggingface":
        return "swin." if version == 1 else "swinv2."
    return "backbone." if whole and to in (*_DETECTORS, "mmpretrain") else ""


def _contained(tensors: dict[str, Tensor], to: str, checkpoint: Mapping) -> dict[str, Any]:
    """Put tensors where the family's code looks for them."""
    if to == "microsoft":
        return {"model": tensors}
    if to == "detectron2":
        return {"model": tensors, "matching_heuristics": True}
    if to in (*_DETECTORS, "mmpretrain"):
        meta = checkpoint.get("meta")
        return {"state_dict": tensors, **({"meta": meta} if isinstance(meta, Mapping) else {})}
    return dict(tensors)
