"""Where a model's first weights come from: the config's, others, or none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mmengine.config import Config
from mmengine.dist import barrier

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.checkpoints.download import download, is_url
from swin_mm.engine.config import as_list, every_dict, type_of
from swin_mm.engine.errors import UsageError, command_again
from swin_mm.engine.notes import Notes
from swin_mm.engine.whole_models import parts_in

NONE = "none"


def choose_weights(cfg: Config, weights: str | None, notes: Notes, *, unsafe: bool = False) -> None:
    """Set the weights that the backbone starts with, and warn when there are none.

    A training that is resumed reads none: its checkpoint has all.

    Args:
        cfg: changed in place.
        weights: a file or URL in place of the config's; `none` for no pretrained weights in the
            whole model; `None` for what the config says.
        notes: where the warning goes.
        unsafe: let our backbones run the code that their weights want to run.

    Raises:
        UsageError: if a file does not exist.
    """
    if cfg.get("resume"):
        if weights is not None:
            notes.warn(f"--weights {weights} is not read: a resumed training has its own")
        _drop_pretrained(cfg)  # the checkpoint has all
        return
    if weights == NONE:
        _drop_pretrained(cfg)
        cfg.load_from = None
    elif weights is not None:
        if "backbone" not in cfg.model:
            raise UsageError(
                "--weights FILE fills model.backbone, and this config's model has none; "
                "name the file in the config, or as --cfg-options load_from=FILE"
            )
        for owner in (cfg.model, cfg.model.backbone):
            owner.pop("pretrained", None)  # the older name of the same; a segmentor hands it down
        cfg.model.backbone["init_cfg"] = {"type": "Pretrained", "checkpoint": weights}
        if cfg.get("load_from"):
            notes.say(f"--weights takes the place of load_from={cfg.load_from}")
            cfg.load_from = None
    if unsafe:
        _trust_weights_of_ours(cfg)
    for source in pretrained_sources(cfg):
        _require_file(source)
    if cfg.get("load_from"):
        _require_file(cfg.load_from)
    elif not list(pretrained_sources(cfg)):
        notes.warn(
            "training from scratch, without pretrained weights. The published results start "
            "from ImageNet weights and are far out of reach this way."
        )


def pretrained_sources(cfg: Config) -> Iterator[str]:
    """Go through the files and URLs that a model's parts are initialised with."""
    for node in every_dict(cfg.model):
        for init in as_list(node.get("init_cfg")):
            if isinstance(init, dict) and _is_pretrained(init):
                yield init["checkpoint"]
        if isinstance(node.get("pretrained"), str):
            yield node["pretrained"]


def fetch_weights(cfg: Config, weights: str | None, notes: Notes, *, unsafe: bool = False) -> None:
    """Read the weights once, before anything is built, so that a failure comes early.

    A URL is downloaded into torch's cache, by one process of each machine. The others wait for the
    file, and not in the first exchange with it: on GPUs that is given up after some minutes.

    Args:
        cfg: changed in place where `weights` hold a whole model: its necks and heads start with
            them too.
        weights: a file or URL in place of the config's, as in :func:`choose_weights`.
        notes: told of a whole model.
        unsafe: run the code that the files want to run.

    Raises:
        UsageError: if they cannot be downloaded or read.
    """
    asked = None if weights == NONE or cfg.get("resume") else weights
    held, is_first = None, os.environ.get("LOCAL_RANK", "0") == "0"
    sources = [*pretrained_sources(cfg), *filter(None, [cfg.get("load_from")])]
    for source in dict.fromkeys(source for source in sources if _is_file_or_url(source)):
        if is_first:
            content = _read(source, unsafe=unsafe)
            held = content if source == asked else held
        elif is_url(source):
            with _refusals_told(source):
                download(source)
    barrier()
    if asked is None:
        return
    parts = parts_in(held or _read(asked, unsafe=unsafe)) & set(cfg.model) - {"backbone"}
    if parts:
        listed = ", ".join(sorted(parts))
        notes.say(f"--weights {asked} holds a whole model: its {listed} are taken too")
        cfg.load_from = asked


def _read(source: str, *, unsafe: bool) -> dict:
    with _refusals_told(source):
        return read_checkpoint(source, unsafe=unsafe)


@contextmanager
def _refusals_told(source: str) -> Iterator[None]:
    try:
        yield
    except CheckpointError as error:
        advice = f"\n{ways_to_weights()}" if is_url(source) else ""
        raise UsageError(f"{error}{advice}") from error


def _is_file_or_url(source: str) -> bool:
    return "://" not in source or is_url(source)


def _trust_weights_of_ours(cfg: Config) -> None:
    """Say `unsafe` where our backbones read their weights; others read through MMEngine."""
    for node in every_dict(cfg.model):
        if type_of(node).startswith("swin_mm."):
            for init in as_list(node.get("init_cfg")):
                if _is_pretrained(init):
                    init["unsafe"] = True


def _drop_pretrained(cfg: Config) -> None:
    for node in every_dict(cfg.model):
        node.pop("pretrained", None)
        inits = as_list(node.get("init_cfg"))
        kept = [init for init in inits if not _is_pretrained(init)]
        if len(kept) < len(inits):
            del node["init_cfg"]
            if kept:
                node["init_cfg"] = kept


def _is_pretrained(init: dict) -> bool:
    return type_of(init) in ("Pretrained", "PretrainedInit")


def _require_file(source: str) -> None:
    if os.path.isdir(source):
        raise UsageError(f"weights must be a file, {source} is a folder. Name the file in it")
    if "://" not in source and not os.path.isfile(source):
        raise UsageError(f"there is no weight file {source}\n{ways_to_weights()}")


def ways_to_weights() -> str:
    """Say how a training can start all the same."""
    return "\n".join(
        [
            "Download the weights by hand and name the file, or start without any:",
            f"  {command_again({'--weights': 'FILE'})}",
            f"  {command_again({'--weights': NONE})}",
        ]
    )
