"""Say what a weight file holds, before anything is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from swin_mm.checkpoints.anatomy import Anatomy, anatomy_of
from swin_mm.checkpoints.arguments import arguments_for
from swin_mm.checkpoints.containers import unwrap
from swin_mm.checkpoints.coordinates import Geometry
from swin_mm.checkpoints.detect import Found, detect
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.heads import HEAD, head_of
from swin_mm.checkpoints.rename import Renamed, to_our_names
from swin_mm.checkpoints.report import times
from swin_mm.checkpoints.windows import windows_of


@dataclass(frozen=True)
class Description:
    """What a weight file holds. ``str`` gives it as a table of a few lines.

    Attributes:
        container: where in the file the tensors lie; empty for a bare file.
        found: layout and prefix.
        anatomy: the network's sizes.
        windows: of each stage; ``None`` where the file does not say.
        patch: height and width of a patch, px, and channels of the picture; ``None`` if unknown.
        norms: numbers of the stages that have an output norm.
        has_positions: whether there is an absolute position embedding.
        classes: of the classifier's head; ``None`` if there is none.
        outside: parts beside the backbone and its head, and how many tensors each has.
        dtypes: how many numbers there are of each type, in the whole file.
        renamed: the backbone's tensors under our names.
    """

    container: str
    found: Found
    anatomy: Anatomy
    windows: tuple[Geometry | None, ...]
    patch: tuple[int, int, int] | None
    norms: tuple[int, ...]
    has_positions: bool
    classes: int | None
    outside: Mapping[str, int]
    dtypes: Mapping[torch.dtype, int]
    renamed: Renamed

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names within the backbone that its layout does not know."""
        return tuple(entry.name for entry in self.renamed.dropped if not entry.expected)

    def arguments(self) -> dict[str, object]:
        """The arguments that build this backbone, where they are not the defaults."""
        return arguments_for(self.renamed.tensors, self.anatomy, self.windows)

    def __str__(self) -> str:
        anatomy, found = self.anatomy, self.found
        name = anatomy.known_as or f"a {anatomy.family} of no paper's size"
        place = f" in {self.container!r}" if self.container else ""
        place += f" under {found.prefix!r}" if found.prefix else ""
        said = {
            "layout": f"{found.layout.name} (SwinV{anatomy.version}){place}",
            "network": name,
            "windows": ", ".join(_said_geometry(entry) for entry in self.windows),
            "patch": _said_patch(self.patch),
            "norms": _said_norms(self.norms, len(anatomy.depths)),
            "positions": "absolute embedding" if self.has_positions else "relative alone",
            "head": "none" if self.classes is None else f"{self.classes} classes",
            "beside": ", ".join(f"{part} ({n} tensors)" for part, n in self.outside.items())
            or "nothing",
            "numbers": ", ".join(
                f"{number / 1e6:.1f} M {str(dtype).removeprefix('torch.')}"
                for dtype, number in self.dtypes.items()
            ),
        }
        if self.unknown:
            more = f" and {len(self.unknown) - 4} more" if len(self.unknown) > 4 else ""
            said["unknown"] = ", ".join(self.unknown[:4]) + more
        kind = "SwinTransformerV2" if anatomy.version == 2 else "SwinTransformer"
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments().items())
        if None in self.windows:
            arguments += ", window_size=?" + (", pretrained_window_sizes=?" * (anatomy.version - 1))
            said["note"] = "the file does not say its windows; its name or its config may"
        said["build with"] = f"swin_mm.{kind}({arguments})"
        return "\n".join(f"{name:<11} {value}" for name, value in said.items())


def describe(
    checkpoint: Mapping, *, layout: str | None = None, prefix: str | None = None
) -> Description:
    """Look a checkpoint through.

    Args:
        checkpoint: what has been read.
        layout: overrules the detection.
        prefix: where the backbone is, for files that hold several.

    Raises:
        CheckpointError: if no layout fits, or more than one.
    """
    unwrapped = unwrap(checkpoint)
    tensors = unwrapped.tensors
    found = detect(tensors, layout=layout, prefix=prefix)
    renamed, head = to_our_names(tensors, found), head_of(tensors, found)
    anatomy = anatomy_of(renamed.tensors)
    outside = Counter(
        key.removeprefix(found.outer).partition(".")[0]
        for key in tensors
        if not key.startswith(found.prefix) and key not in head.values()
    )
    dtypes: Counter[torch.dtype] = Counter()
    for tensor in tensors.values():
        dtypes[tensor.dtype] += tensor.numel()
    last = len(anatomy.depths)
    return Description(
        container=unwrapped.container,
        found=found,
        anatomy=anatomy,
        windows=_windows_by_stage(renamed.tensors, last),
        patch=_patch(renamed.tensors),
        norms=tuple(stage for stage in range(last) if f"norm{stage}.weight" in renamed.tensors),
        has_positions="absolute_pos_embed" in renamed.tensors,
        classes=tensors[head[f"{HEAD}.weight"]].shape[0] if head else None,
        outside=outside,
        dtypes=dtypes,
        renamed=renamed,
    )


def _windows_by_stage(tensors: Mapping[str, Tensor], stages: int) -> tuple[Geometry | None, ...]:
    try:
        by_block = dict(windows_of(tensors))
    except CheckpointError:  # oblong, and nothing tells which way
        return (None,) * stages
    firsts = (f"stages.{stage}.blocks.0.attn.w_msa." for stage in range(stages))
    return tuple(by_block.get(first) for first in firsts)


def _patch(tensors: Mapping[str, Tensor]) -> tuple[int, int, int] | None:
    weight = tensors.get("patch_embed.projection.weight")
    if weight is None or weight.dim() != 4:
        return None
    return weight.shape[2], weight.shape[3], weight.shape[1]


def _said_geometry(geometry: Geometry | None) -> str:
    if geometry is None:
        return "unknown"
    said = times(geometry.window)
    if geometry.pretrained != geometry.window:
        said += f" (pretrained {times(geometry.pretrained)})"
    return said


def _said_patch(patch: tuple[int, int, int] | None) -> str:
    if patch is None:
        return "unknown"
    height, width, channels = patch
    return f"{height}x{width} px of {channels} channels"


def _said_norms(norms: tuple[int, ...], stages: int) -> str:
    if norms == (stages - 1,):
        return "the last stage's alone"
    return ", ".join(f"norm{stage}" for stage in norms) or "none"
