"""Load a backbone from a file of any known layout: detect, rename, reorder, resize, report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from torch import Tensor, nn

from swin_mm.checkpoints.anatomy import anatomy_of, check_same_network
from swin_mm.checkpoints.containers import unwrap
from swin_mm.checkpoints.coordinates import assumed_windows
from swin_mm.checkpoints.detect import detect, table_of
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.fit import (
    BUFFERS,
    Fitted,
    ResizeBias,
    argument_for,
    fit,
    is_optional,
)
from swin_mm.checkpoints.formats.layout import place_in_ours
from swin_mm.checkpoints.read import read_checkpoint
from swin_mm.checkpoints.rename import Renamed, to_our_names
from swin_mm.checkpoints.report import Dropped, LoadReport

_OUTPUT_NORM = re.compile(r"norm\d+\.(weight|bias)")
_STAGE = re.compile(r"stages\.(\d+)\.(downsample\.)?.*")


def load_pretrained(
    model: nn.Module,
    source: str | os.PathLike | Mapping,
    *,
    layout: str | None = None,
    prefix: str | None = None,
    resize_bias: ResizeBias = "bicubic",
    unsafe: bool = False,
) -> LoadReport:
    """Load a backbone from a file, whoever wrote it.

    Args:
        model: a backbone with our names.
        source: path or URL, or a checkpoint that has been read.
        layout: overrules the detection; one of ``swin_mm.checkpoints.LAYOUTS``.
        prefix: where the backbone is, for files that hold several.
        resize_bias: how bias tables come to other windows: ``"bicubic"`` as Microsoft's code does,
            ``"geometric"`` as SimMIM's and timm's, which is meant for windows far apart.
        unsafe: run the pickle's code if it wants to; only for files you trust.

    Returns:
        What became of every tensor.

    Raises:
        CheckpointError: if the file cannot be read, understood or fitted. The model is unchanged.
    """
    if not isinstance(source, Mapping):
        source = read_checkpoint(source, unsafe=unsafe)
    tensors, report = adapt_state_dict(
        source, model, layout=layout, prefix=prefix, resize_bias=resize_bias
    )
    model.load_state_dict(tensors, strict=False)
    return report


def adapt_state_dict(
    checkpoint: Mapping,
    model: nn.Module,
    *,
    layout: str | None = None,
    prefix: str | None = None,
    resize_bias: ResizeBias = "bicubic",
) -> tuple[dict[str, Tensor], LoadReport]:
    """Bring a checkpoint to a backbone's names, order and shapes; see :func:`load_pretrained`.

    Returns:
        Tensors that ``model.load_state_dict(..., strict=False)`` takes, and what became of all.
    """
    unwrapped = unwrap(checkpoint)
    found = detect(unwrapped.tensors, layout=layout, prefix=prefix)
    renamed = to_our_names(unwrapped.tensors, found)
    target = model.state_dict()
    check_same_network(anatomy_of(renamed.tensors), anatomy_of(target))
    fitted = fit(renamed.tensors, model, target, resize_bias=resize_bias)
    left_behind = _left_behind(renamed, fitted, model)
    new = [name for name in fitted.absent if _OUTPUT_NORM.fullmatch(name)]
    if all(entry.expected for entry in left_behind):
        new += _added(fitted.absent, target)
    missing = [name for name in fitted.absent if name not in new]
    lacking = [name for name in missing if not is_optional(name)]
    if lacking:
        arguments = argument_for(lacking[0])
        cure = f"Is it whole? See the model's {arguments}" if arguments else "Is it whole?"
        raise CheckpointError(
            f"a file must hold every tensor of the network, this one (layout {found.layout.name}) "
            f"has {len(fitted.tensors)} and lacks {len(lacking)}, the first "
            f"{', '.join(lacking[:3])}. {cure}"
        )
    report = LoadReport(
        layout=found.layout.name,
        version=found.layout.version,
        container=unwrapped.container,
        prefix=found.prefix,
        loaded=tuple(fitted.tensors),
        resized=tuple(fitted.resized),
        reordered=(
            *(name for name in renamed.reordered if name in fitted.tensors),
            *fitted.reordered,
        ),
        dropped=(*renamed.dropped, *left_behind),
        new=tuple(new),
        missing=tuple(missing),
        assumed=assumed_windows(renamed.tensors, model),
    )
    return fitted.tensors, report


def _left_behind(renamed: Renamed, fitted: Fitted, model: nn.Module) -> list[Dropped]:
    """Say of each tensor that the model does not take why, and whether that is as it should be."""
    dropped = [
        Dropped(key, "the model makes its own", expected=True)
        for name, key in renamed.keys.items()
        if name.endswith(BUFFERS)
    ]
    for name in fitted.left:
        if name.endswith(BUFFERS):
            continue
        if serves_no_output(name, model):
            dropped.append(Dropped(renamed.keys[name], "no output needs it", expected=True))
            continue
        arguments = argument_for(name)
        why = f"the model has none, see {arguments}" if arguments else "the model has none"
        dropped.append(Dropped(renamed.keys[name], why, expected=False))
    return dropped


def _added(absent: Iterable[str], target: Mapping[str, Tensor]) -> list[str]:
    """Name what a model has that no Swin has, an adapter's weights, say; no file could hold it.

    Where a file's weights find no place, it may be their places that were renamed, as LoRA does:
    so this is asked only where they all do.
    """
    anatomy = anatomy_of(target)
    table, last = table_of("openmmlab", anatomy.version), len(anatomy.depths) - 1
    return [name for name in absent if place_in_ours(table, name, last) is None]


def serves_no_output(name: str, model: nn.Module) -> bool:
    """Whether a tensor that a backbone has no place for belongs to outputs it was not asked for.

    Args:
        name: ours.
        model: builds its stages up to the last of its ``out_indices``; ``num_features`` has a
            number for each stage that it would have in all.
    """
    if _OUTPUT_NORM.fullmatch(name):
        return True
    stage = _STAGE.fullmatch(name)
    if stage is None or int(stage[1]) >= len(model.num_features):
        return False
    last = len(model.stages) - 1
    return int(stage[1]) > last or bool(stage[2] and int(stage[1]) == last)
