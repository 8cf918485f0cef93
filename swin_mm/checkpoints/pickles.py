"""What a pickled checkpoint may name besides tensors: by name, and nothing else.

``torch.load(weights_only=True)`` builds tensors and plain containers. MMEngine's own checkpoints
hold a little more: logged values (``HistoryBuffer``, which names its statistics by ``getattr``),
numpy numbers, configuration dictionaries, one annealing function. Each is admitted here under its
full name. ``getattr`` itself, which reaches anything, is not: its place takes a function that knows
those few attributes.
"""

from __future__ import annotations

import argparse
import importlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pickle import UnpicklingError

import torch

_HISTORY = "mmengine.logging.history_buffer.HistoryBuffer"
_ONE_CYCLE = "mmengine.optim.scheduler.param_scheduler.OneCycleParamScheduler"

# Attributes that MMEngine's pickles fetch from its classes.
_ATTRIBUTES = {
    _HISTORY: ("min", "max", "current", "mean"),
    _ONE_CYCLE: ("_annealing_cos", "_annealing_linear"),
}

# Configurations that training scripts store beside the weights; read as plain dictionaries.
_DICTIONARIES = (
    "addict.addict.Dict",
    "detectron2.config.config.CfgNode",
    "fvcore.common.config.CfgNode",
    "mmcv.utils.config.ConfigDict",
    "yacs.config.CfgNode",
)

_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 str"

_one_reader = threading.Lock()


class Unread:
    """Stands in for an object whose library is not installed; keeps nothing."""

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, _: object) -> None:
        pass


class NamedOnly:
    """Stands in for a class of which a pickle may fetch attributes, but make no objects."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *_: object) -> None:
        raise UnpicklingError(f"Unsupported global: GLOBAL {self.path}()")


@contextmanager
def admitted() -> Iterator[None]:
    """Admit what this module names while files are read, and what the user has admitted anyway.

    torch keeps one list for the process, so reading is for one thread at a time, and only what was
    not on the list before is taken off again.
    """
    with _one_reader:
        there = set(torch.serialization.get_safe_globals())
        extra = [entry for entry in _by_name() if entry not in there]
        with torch.serialization.safe_globals(extra):
            yield


def is_plain(path: str) -> bool:
    """Say whether a pickle's name is one of tensors' or of what this module admits."""
    return path.startswith("torch._utils._rebuild_") or path in (
        *("collections.OrderedDict", "torch.Size", "torch.device", "_codecs.encode"),
        *(name for _, name in _by_name()),
    )


def _by_name() -> list[tuple[Callable, str]]:
    """List what is admitted as torch wants it: the object, and the name it goes by."""
    table = dict.fromkeys(_DICTIONARIES, OrderedDict)
    table["argparse.Namespace"] = argparse.Namespace
    table["mmengine.config.config.ConfigDict"] = _find("mmengine.config.config.ConfigDict", dict)
    table[_HISTORY] = _find(_HISTORY, Unread)
    table[_ONE_CYCLE] = _one_cycle
    table["builtins.getattr"] = _get_known_attribute
    return [(admits, name) for name, admits in {**table, **_numpy_by_name()}.items()]


_one_cycle = NamedOnly(_ONE_CYCLE)


def _get_known_attribute(owner: object, name: str) -> object:
    """Stand in for ``getattr`` in a pickle."""
    if owner is Unread:
        return None
    path = owner.path if isinstance(owner, NamedOnly) else _path_of(owner)
    if type(name) is not str or name not in _ATTRIBUTES.get(path, ()):
        owned = path or type(owner).__name__
        wanted = repr(name) if type(name) is str else type(name).__name__
        raise UnpicklingError(f"Unsupported global: GLOBAL getattr({owned}, {wanted})")
    return getattr(_find(path, Unread), name, None)


def _path_of(owner: object) -> str | None:
    return f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else None


def _numpy_by_name() -> dict[str, Callable]:
    """Numbers and arrays, under the names of numpy 1 and of numpy 2; none where numpy is missing.

    Arrays of objects are not among them.
    """
    array, dtype = _find("numpy.ndarray", None), _find("numpy.dtype", None)
    if array is None or dtype is None:
        return {}
    table = {"numpy.ndarray": array, "numpy.dtype": dtype}
    for function in ("_reconstruct", "scalar"):
        old, new = (f"numpy.{home}.multiarray.{function}" for home in ("core", "_core"))
        table[old] = table[new] = _find(new, None) or _find(old, None)
    for name in _DTYPES.split():
        kind = type(dtype(name))
        table[f"{kind.__module__}.{kind.__qualname__}"] = kind
    return table


def _find(path: str, otherwise: object) -> object:
    """Import what a dotted path names, if its library is installed."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return otherwise
