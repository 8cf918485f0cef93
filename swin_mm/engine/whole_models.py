"""Checkpoints of whole detectors and segmentors, brought to the form that MMEngine loads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from mmengine.logging import print_log
from mmengine.model import BaseTTAModel, is_model_wrapper
from torch import Tensor, nn

from swin_mm.checkpoints import CheckpointError, adapt_state_dict, detect
from swin_mm.checkpoints.classifier import adapt_classifier
from swin_mm.checkpoints.containers import unwrap
from swin_mm.checkpoints.models import BACKBONE, prefix_of_model, without_module
from swin_mm.engine.box_encoding import widen_box_encoding
from swin_mm.registry import MODELS


def with_state_dict(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Put the tensors of a checkpoint under ``state_dict``, their names without wrappers.

    MMEngine looks there, or takes the whole file for tensors; it knows no ``model`` or
    ``model_ema``, and of wrappers only the outermost ``module.``. What else lies in the file stays,
    and MMEngine's own checkpoints stay altogether as they are: a resumed run is exact.

    Returns:
        The checkpoint itself if it needs no change, or holds no tensors at all.
    """
    try:
        unwrapped = unwrap(checkpoint)
    except CheckpointError:
        return checkpoint
    path = unwrapped.container.split(".") if unwrapped.container else []
    held: Mapping = checkpoint
    for name in path:
        held = held[name]
    tensors = {without_module(name): tensor for name, tensor in unwrapped.tensors.items()}
    if path == ["state_dict"] and all(
        name in tensors for name, value in held.items() if isinstance(value, Tensor)
    ):
        return checkpoint
    rest = {
        key: value
        for key, value in checkpoint.items()
        if key not in path[:1] and not (held is checkpoint and isinstance(value, Tensor))
    }
    return {**rest, "state_dict": _with_versions_of(held, tensors, without_module)}


def fit_to_model(checkpoint: MutableMapping[str, Any], model: nn.Module) -> tuple[str, ...]:
    """Bring a checkpoint's names under those of a model, in place.

    A file that holds a Swin alone, of any layout, fills ``model.backbone``. What stands before the
    names of a whole model, as in ``detector.backbone.``, is taken off. The names inside the
    backbone are left to the backbone's own hook.

    Args:
        checkpoint: with the tensors under ``state_dict``, as :func:`with_state_dict` returns it.
        model: a detector or segmentor, wrapped or not.

    Returns:
        The names of parameters that the file has nothing for.

    Raises:
        CheckpointError: if the file holds nothing for the model, or another network's backbone.
    """
    model = _innermost(model)
    ours = tuple(MODELS.module_dict.values())
    tensors = checkpoint.get("state_dict")
    if isinstance(model, ours) and tensors:
        return _fit_to_network(checkpoint, model)
    names = [name for name, _ in model.named_parameters()]
    backbone = getattr(model, "backbone", None)
    is_swin = isinstance(backbone, ours)
    if tensors and is_swin and not any(name.startswith(BACKBONE) for name in tensors):
        tensors = checkpoint["state_dict"] = _under_backbone(tensors, model)
    if tensors:
        widen_box_encoding(tensors, model)
    found = {name for name in tensors or () if is_swin and name.startswith(BACKBONE)}
    if not found and not any(name in (tensors or ()) for name in model.state_dict()):
        raise CheckpointError(
            f"a checkpoint must hold tensors of the model, as {', '.join(names[:3])}; this one "
            f"holds {', '.join(list(tensors or checkpoint)[:3]) or 'nothing'}. Give a file of the "
            "config's model, or of its backbone"
        )
    if not is_swin:
        return tuple(name for name in names if name not in tensors)
    beside = [name for name in names if not name.startswith(BACKBONE)]
    missing = [name for name in beside if name not in tensors]
    return (*missing, *(BACKBONE + name for name in _missing_in_backbone(tensors, backbone)))


def parts_in(checkpoint: dict[str, Any]) -> set[str]:
    """Name what stands in a file beside, and with, a Swin as `backbone`; nothing if none does."""
    tensors = with_state_dict(checkpoint).get("state_dict", {})
    outer = prefix_of_model(tensors)
    if outer is None:
        return set()
    inside = (name.removeprefix(outer) for name in tensors if name.startswith(outer))
    return {name.partition(".")[0] for name in inside}


def complaint(missing: tuple[str, ...]) -> str:
    """Say what a checkpoint lacks that should fill a whole model.

    Args:
        missing: names of parameters, at least one.
    """
    parts = list(dict.fromkeys(name.partition(".")[0] for name in missing))
    return (
        f"a checkpoint must fill the whole model; this one has nothing for {len(missing)} "
        f"parameters of {', '.join(parts)}, the first {', '.join(missing[:3])}. They would keep "
        "their first, random values. If it is a backbone alone, as ImageNet's weights are, train "
        "from it; else use the config that it was trained with"
    )


def _fit_to_network(checkpoint: MutableMapping[str, Any], network: nn.Module) -> tuple[str, ...]:
    """Do the same for a backbone or a classifier of ours that is the whole model."""
    if not hasattr(network, "head"):
        _, report = adapt_state_dict(checkpoint["state_dict"], network)
    else:  # whose parts do not see names that have no prefix
        tensors, report = adapt_classifier(checkpoint["state_dict"], network)
        checkpoint["state_dict"] = tensors
    return (*report.missing, *report.new)


def _missing_in_backbone(tensors: Mapping[str, Tensor], backbone: nn.Module) -> tuple[str, ...]:
    """Name the parameters of a Swin that a file of any layout has nothing for."""
    under = {
        name.removeprefix(BACKBONE): tensor
        for name, tensor in tensors.items()
        if name.startswith(BACKBONE)
    }
    if not under:
        return tuple(name for name, _ in backbone.named_parameters())
    try:
        _, report = adapt_state_dict(under, backbone)
    except CheckpointError as error:
        raise type(error)(f"under {BACKBONE!r}: {error}") from error
    return (*report.missing, *report.new)


def _under_backbone(tensors: Mapping[str, Tensor], model: nn.Module) -> Mapping[str, Tensor]:
    """Find the model, or its backbone, in a file that has no names under ``backbone.``."""
    outer = prefix_of_model(tensors)
    if outer is not None:
        print_log(f"The checkpoint holds the model under {outer!r}", logger="current")
        inside = {name: value for name, value in tensors.items() if name.startswith(outer)}
        return _with_versions_of(
            tensors,
            {name.removeprefix(outer): value for name, value in inside.items()},
            lambda name: name.removeprefix(outer),
        )
    try:
        detect(tensors)
    except CheckpointError:
        return tensors  # another network's, or several Swins
    adapted, report = adapt_state_dict(tensors, model.backbone)
    names = (name.partition(".")[0] for name, _ in model.named_parameters())
    others = [part for part in dict.fromkeys(names) if part != "backbone"]
    print_log(
        f"The checkpoint holds a backbone alone and fills model.backbone ({report}); "
        f"{', '.join(others) or 'nothing'} beside it keeps its first values",
        logger="current",
    )
    return {BACKBONE + name: tensor for name, tensor in adapted.items()}


def _innermost(model: nn.Module) -> nn.Module:
    while is_model_wrapper(model) or isinstance(model, BaseTTAModel):
        model = model.module
    return model


def _with_versions_of(
    held: Mapping, tensors: Mapping[str, Tensor], rename: Callable[[str], str]
) -> Mapping[str, Tensor]:
    """Keep the versions of modules, which torch hangs on a state_dict; old ones are converted."""
    versions = getattr(held, "_metadata", None)
    kept = OrderedDict(tensors)
    if versions is not None:
        kept._metadata = OrderedDict((rename(name), value) for name, value in versions.items())
    return kept
