"""Arguments as users bring them: other ports' names, misspelt names, one number for two or four."""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any

WindowSize = int | Sequence[int] | Sequence[Sequence[int]]

# The official detection and segmentation repositories' names, and MMDetection's.
OFFICIAL_NAMES = {
    "embed_dim": "embed_dims",
    "in_chans": "in_channels",
    "ape": "use_abs_pos_embed",
    "use_checkpoint": "with_cp",
}
RESNET_NAMES = frozenset(
    {"depth", "num_stages", "style", "norm_eval", "base_channels", "dilations", "deep_stem"}
    | {"avg_down", "dcn", "stage_with_dcn", "plugins", "contract_dilation", "zero_init_residual"}
)


Init = Callable[..., None]


def takes_arguments_of(*owners: type, without: Collection[str] = ()) -> Callable[[Init], Init]:
    """Write the keyword-only arguments of other classes into the signature of an ``__init__``.

    For one that passes ``**shared`` on to them: ``help()`` then shows what it takes, and
    :func:`understands_official_names` refuses what it does not.

    Args:
        owners: classes; of an argument that several have, the first one's default is shown.
        without: arguments that are not passed on.
    """

    def decorate(init: Init) -> Init:
        signature = inspect.signature(init)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in own}.union(without)
        shared = {
            p.name: p
            for owner in reversed(owners)
            for p in inspect.signature(owner).parameters.values()
            if p.kind is p.KEYWORD_ONLY and p.name not in taken
        }
        itself, *own = own
        init.__signature__ = signature.replace(parameters=[itself, *shared.values(), *own])
        return init

    return decorate


def understands_official_names(init: Init) -> Init:
    """Let a constructor of keywords take the official repositories' names too, with a note.

    Raises:
        TypeError: when called with a name that is neither; the message gives the near ones, and
            the cure where it was inherited from a ResNet's config. Or with one argument twice.
    """
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @functools.wraps(init)
    def translated(self: Any, **given: Any) -> None:
        owner, arguments = type(self).__name__, {}
        for name, value in given.items():
            ours = OFFICIAL_NAMES.get(name, name)
            if ours not in known:
                raise TypeError(_unknown(name, [*known, *OFFICIAL_NAMES], owner))
            if ours in arguments or (ours != name and ours in given):
                raise TypeError(f"{owner} got {ours!r} twice, once as {name!r}; drop one")
            if ours != name:
                note = f"{name!r} is the official repositories' name for OpenMMLab's {ours!r}"
                warnings.warn(note, FutureWarning, stacklevel=2)
            arguments[ours] = value
        init(self, **arguments)

    return translated


def _unknown(name: str, known: Sequence[str], owner: str) -> str:
    message = f"{owner} has no argument {name!r}"
    if name in RESNET_NAMES:
        return (
            f"{message}; it is a ResNet's. A config that replaces an inherited backbone must say "
            f"backbone=dict(_delete_=True, type='swin_mm.{owner}', ...)"
        )
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    proposals = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known)}"
    return f"{message}; {proposals}"


def as_pair(value: int | Sequence[int], name: str, *, least: int = 1) -> tuple[int, int]:
    """Read one number, or height and width.

    Raises:
        ValueError: if it is neither, or not whole numbers from ``least`` on.
    """
    pair = tuple(value) if isinstance(value, Sequence) else (value, value)
    if len(pair) == 1:
        pair *= 2
    if len(pair) != 2 or not all(is_whole(side, least) for side in pair):
        raise ValueError(
            f"{name} must be a whole number >= {least}, or (height, width), got {value!r}"
        )
    return pair


def windows_by_stage(
    value: WindowSize, num_stages: int, *, name: str = "window_size", least: int = 1
) -> list[tuple[int, int]]:
    """Read ``window_size``: one for all stages, or one a stage.

    Args:
        value: 7, or (7, 14) for height and width, or one of these for each stage. Two plain
            numbers are always height and width.
        num_stages: stages of the network.
        name: of the argument, for errors.
        least: the smallest side that is allowed, tokens.

    Returns:
        Height and width of the windows of each stage, tokens.

    Raises:
        ValueError: if it is none of these.
    """
    is_one = not isinstance(value, Sequence) or (
        len(value) <= 2 and all(isinstance(side, int) for side in value)
    )
    if is_one:
        return [as_pair(value, name, least=least)] * num_stages
    if len(value) != num_stages:
        raise ValueError(
            f"{name} must be one window, or one for each of the {num_stages} stages, got "
            f"{len(value)}: {value!r}"
        )
    return [as_pair(window, f"{name} of a stage", least=least) for window in value]


def is_whole(value: object, least: int) -> bool:
    """Say whether a value is a whole number from ``least`` on; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def whole_numbers(value: Sequence[int], name: str) -> tuple[int, ...]:
    """Read whole numbers from 1 on, one for each stage.

    Raises:
        ValueError: if they are not.
    """
    if not isinstance(value, Sequence) or not all(is_whole(number, 1) for number in value):
        raise ValueError(
            f"{name} must have a whole number >= 1 for each stage, as (2, 2, 6, 2), got {value!r}"
        )
    return tuple(value)
