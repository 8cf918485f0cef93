"""`--cfg-options`: read, and checked against the config before anything is built."""

from __future__ import annotations

import argparse
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import mmengine.registry
from mmengine.config import Config, DictAction
from mmengine.registry import Registry
from mmengine.runner import Runner
from torch.utils.data import DataLoader

from swin_mm.engine.config import import_host
from swin_mm.engine.errors import UsageError, near
from swin_mm.engine.notes import Notes

Options = Mapping[str, Any]

# Read by MMEngine, MMDetection or MMSegmentation beside the arguments of the Runner.
_TOP_LEVEL = {
    "activation_checkpointing",
    "compile",
    "custom_imports",
    "efficient_conv_bn_eval",
    "find_unused_parameters",
    "model_wrapper_cfg",
    "sync_bn",
    "tta_model",
    "tta_pipeline",
}
# Read by what builds the optimizer, before the wrapper's class sees its arguments.
_OPTIM_WRAPPER = {"constructor", "optimizer", "paramwise_cfg"}
_SHOWN = 3  # settings that an error lists
_DATALOADER = {"collate_fn", "dataset", "num_batch_per_epoch", "worker_init_fn"}


class ConfigOption(DictAction):
    """MMEngine's `KEY=VALUE` action, with an error instead of a traceback."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add the pairs to the namespace."""
        for pair in values:
            key, equals, value = pair.partition("=")
            if not key or not equals:
                parser.error(f"{option_string} takes KEY=VALUE, got {pair!r}")
            if any(value.count(left) != value.count(right) for left, right in ("[]", "()")):
                parser.error(f"{option_string}: a bracket is not closed in {pair!r}")
            try:
                self._parse_iterable(value)
            except RecursionError:  # MMEngine's reader never ends: dict(a=1,b=2), [1,2]x
                parser.error(
                    f"{option_string} takes lists [a,b], tuples (a,b) and single values, got "
                    f"{pair!r}; set what a group holds one by one, {key}.NAME=VALUE"
                )
        super().__call__(parser, namespace, values, option_string)


def merge_options(cfg: Config, options: Options, notes: Notes) -> None:
    """Check options against a config, then set them in it.

    Raises:
        UsageError: if a key leads nowhere, names what its class does not take, lies below one that
            is set whole, or is of a name that has built other settings by now.
    """
    for path in options:
        _check_whole(path, options)
        _check_path(cfg, path, options, notes)
        _check_effect(cfg, path, notes)
    cfg.merge_from_dict(dict(options))


def _check_whole(path: str, options: Options) -> None:
    """Refuse a key below one that another option sets whole."""
    keys = path.split(".")
    for count in range(1, len(keys)):
        above = ".".join(keys[:count])
        if above in options and not isinstance(options[above], Mapping):
            raise UsageError(
                f"--cfg-options {above}={options[above]} and {path}={options[path]}: "
                "the first sets all of what the second sets a part of; give one of them"
            )


def _check_path(cfg: Config, path: str, options: Options, notes: Notes) -> None:
    """Follow a dotted key through the config as far as it exists."""
    node: Any = cfg._cfg_dict
    walked: list[str] = []
    for key in path.split("."):
        here = ".".join(walked)
        if isinstance(node, Mapping):
            if key not in node:
                _check_new_key(cfg, node, here, key, options, notes)
                return
            node = node[key]
        elif isinstance(node, list):
            if not key.isdigit() or int(key) >= len(node):
                raise UsageError(
                    f"--cfg-options {path}: {here} is a list of {len(node)}; "
                    f"name one by its number, 0 to {len(node) - 1}, not {key!r}"
                )
            node = node[int(key)]
        else:
            raise UsageError(
                f"--cfg-options {path}: {here} is {node!r} and has no {key!r} below it; "
                f"set it whole, {here}=VALUE"
            )
        walked.append(key)
    value = options[path]
    if isinstance(node, Mapping) and value is not None and not isinstance(value, Mapping):
        raise UsageError(
            f"--cfg-options {path}={value}: {path} is a group of {', '.join(node)}; "
            f"set one of them, {path}.{next(iter(node), 'KEY')}=VALUE"
        )
    if walked[-1] == "type" and isinstance(value, str):
        _check_type(cfg, path, value)


def _check_effect(cfg: Config, path: str, notes: Notes) -> None:
    """Refuse a name at the top that only built other settings, while the file was read."""
    name, _, below = path.partition(".")
    if name not in cfg or name in read_at_the_top():
        return
    if name == "test_pipeline" and not cfg.get("test_dataloader"):
        return  # predictions read it then
    value = cfg[name]
    copies = [
        place
        for top in sorted(read_at_the_top() & set(cfg))
        for place in _places_of(value, cfg[top], top)
    ]
    what = f"--cfg-options {path} changes nothing by itself: no run reads {name}"
    if copies and not isinstance(value, int | float):  # a number may be the same by chance
        shown = [f"{place}.{below}" if below else place for place in copies[:_SHOWN]]
        more = f" and {len(copies) - _SHOWN} more" if len(copies) > _SHOWN else ""
        root = ", or --data-root, which sets them all" if name == "data_root" else ""
        raise UsageError(
            f"{what}, from which the file has built {', '.join(shown)}{more}. Set those{root}"
        )
    notes.warn(f"{what}, but for code of your own")


def _places_of(value: Any, node: Any, path: str) -> Iterator[str]:
    """Go through the dotted keys below a branch where a value stands, or a path that it begins."""
    same = type(node) is type(value) and node == value and value not in ("", [], (), {})
    texts = isinstance(node, str) and isinstance(value, str) and value
    if same or (texts and node.startswith(value)):
        yield path
    elif isinstance(node, Mapping | list | tuple):
        children = node.items() if isinstance(node, Mapping) else enumerate(node)
        for key, child in children:
            yield from _places_of(value, child, f"{path}.{key}")


def _check_new_key(
    cfg: Config, node: Mapping, here: str, key: str, options: Options, notes: Notes
) -> None:
    """Decide on a key that the config does not have: its class may take it all the same."""
    full = f"{here}.{key}" if here else key
    kind = options.get(f"{here}.type", node.get("type"))
    if not here:
        accepted: set[str] | None = read_at_the_top()
        owner = "a config"
    elif here.endswith("_dataloader"):
        accepted, owner = _arguments_of(DataLoader) | _DATALOADER, "a dataloader"
    elif kind is not None:
        accepted, owner = _arguments_of_type(cfg, kind), str(kind)
        if here == "optim_wrapper" and accepted is not None:
            accepted |= _OPTIM_WRAPPER
    else:
        accepted, owner = None, here
    if accepted is not None:
        if key not in accepted:
            known = sorted(accepted | set(node))
            guess = near(key, known) or f"; it takes {', '.join(known)}"
            raise UsageError(f"--cfg-options {full}: {owner} has no {key!r}{guess}")
        return
    if guess := near(key, node):
        raise UsageError(f"--cfg-options {full}: {owner} has no {key!r}{guess}")
    notes.say(f"--cfg-options adds {full}, which the config did not have")


def _check_type(cfg: Config, path: str, name: str) -> None:
    if _find_classes(cfg, name):
        return
    scope, _, bare = name.rpartition(".")
    known = set()
    for registry in _root_registries():
        known |= set(registry.module_dict)
        for child in registry.children.values():
            if child.scope in (scope, cfg.get("default_scope")):
                known |= set(child.module_dict)
    raise UsageError(f"--cfg-options {path}: nothing is registered as {name!r}{near(bare, known)}")


@functools.cache
def read_at_the_top() -> frozenset[str]:
    """Return the names at the top of a config that a run reads."""
    return frozenset(_arguments_of(Runner) | _TOP_LEVEL)


def _arguments_of_type(cfg: Config, kind: Any) -> set[str] | None:
    """Return what a registered class can be built with; `None` if it cannot be told."""
    classes = _find_classes(cfg, kind) if isinstance(kind, str) else [kind]
    if not classes:
        return None
    arguments = set()
    for cls in classes:
        one = _arguments_of(cls)
        if one is None:
            return None
        arguments |= one
    return arguments | {"type", "_scope_", "_delete_"}


def _arguments_of(cls: Any) -> set[str] | None:
    """Collect the arguments of a constructor, through `**kwargs` into its bases."""
    arguments: set[str] = set()
    for base in inspect.getmro(cls) if inspect.isclass(cls) else [cls]:
        init = base.__dict__.get("__init__") if inspect.isclass(base) else base
        if init is None or base is object:
            continue
        parameters = inspect.signature(init).parameters.values()
        arguments |= {
            one.name
            for one in parameters
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        }
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            return arguments - {"self"}
    return None


def _root_registries() -> Iterable[Registry]:
    for name in mmengine.registry.__all__:
        registry = getattr(mmengine.registry, name)
        if isinstance(registry, Registry):
            yield registry


def _find_classes(cfg: Config, name: str) -> list[Any]:
    """Look a type up in every registry, as a builder in the config's scope would."""
    scope = import_host(cfg)
    found = []
    for root in _root_registries():
        try:
            cls = root.children.get(scope, root).get(name)
        except (RuntimeError, KeyError):  # what is missing: one fork raises, one returns None
            continue
        if cls is not None and cls not in found:
            found.append(cls)
    return found
