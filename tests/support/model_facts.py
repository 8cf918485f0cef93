"""What every shipped config's full-size model is, counted without memory, and kept in a file.

    python tests/support/model_facts.py

counts all configs anew into tests/configs/models.json. Do so when a config is added, or changed on
purpose, and read the difference before committing it.
"""

import json
import logging
import re
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import MODELS, init_default_scope
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from swin_mm.engine.config import import_host

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests/configs/models.json"
CONFIGS = sorted(path.stem for path in (ROOT / "configs").glob("*.py"))

Rates = dict[str, tuple[float, float]]

# Of a two-stage detector's second stage, as MMDetection's own counter assumes.
_PROPOSALS, _MASKS = 1000, 100


def read(name: str) -> Config:
    """Read a shipped config by its name without `.py`."""
    return Config.fromfile(ROOT / "configs" / f"{name}.py")


def build(cfg: Config) -> nn.Module:
    """Build a config's model without memory or weights."""
    import_host(cfg)
    with torch.device("meta"):
        return MODELS.build(cfg.model)


def facts_of(cfg: Config) -> dict[str, Any]:
    """Count parameters, multiply-adds and the optimizer's groups of a config."""
    model = build(cfg)
    counted, rates = products_of(model, cfg), rates_of(model, cfg)
    sizes = {name: one.numel() for name, one in model.named_parameters()}
    return {
        "parameters": sum(sizes.values()),
        "multiply_adds": None if counted is None else sum(counted.values()),
        "groups": _groups_of(rates, sizes),
        "without_decay": _spared_in(rates),
    }


def wrapper_of(model: nn.Module, cfg: Config) -> OptimWrapper:
    """Build a config's optimizer for a model; MMEngine's lines on each parameter are not told."""
    init_default_scope(cfg.default_scope)
    before = logging.root.manager.disable
    logging.disable(logging.INFO)
    try:
        return build_optim_wrapper(model, cfg.optim_wrapper)
    finally:
        logging.disable(before)


def rates_of(model: nn.Module, cfg: Config) -> Rates:
    """Return learning rate and weight decay of each parameter, as the optimizer is built."""
    optimizer = wrapper_of(model, cfg).optimizer
    settings = {
        id(one): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for one in group["params"]
    }
    return {name: settings[id(one)] for name, one in model.named_parameters()}


def _groups_of(rates: Rates, sizes: dict[str, int]) -> list[dict[str, float]]:
    """Sum up what learns alike, the slowest first."""
    tensors: Counter = Counter()
    elements: Counter = Counter()
    for name, (rate, decay) in rates.items():
        setting = (float(f"{rate:.6g}"), float(f"{decay:.6g}"))
        tensors[setting] += 1
        elements[setting] += sizes[name]
    return [
        {"lr": rate, "weight_decay": decay, "tensors": tensors[rate, decay]}
        | {"parameters": elements[rate, decay]}
        for rate, decay in sorted(tensors)
    ]


def _spared_in(rates: Rates) -> list[str]:
    """Name what does not decay: weight and bias together, numbers written as `*`."""
    spared = [name for name, (_, decay) in rates.items() if not decay]
    return sorted({re.sub(r"\d+", "*", re.sub(r"\.(weight|bias)$", "", one)) for one in spared})


def products_of(model: nn.Module, cfg: Config) -> dict[str, int] | None:
    """Count the multiply-adds of a picture at the size that the papers count them at, by operator.

    Nothing is computed, so that what depends on a result is put in by hand: so many proposals.

    Returns:
        `None` for models that cannot be run without results, as DINO and Mask2Former.
    """
    height, width = map(int, cfg.zoo.input.split("x"))
    kind = type(model).__name__
    if kind in ("DINO", "Mask2Former") or "Mask2Former" in str(cfg.model.get("decode_head")):
        return None
    counter = FlopCounterMode(display=False)
    with torch.device("meta"), counter, torch.no_grad():
        model.eval()
        maps = model.extract_feat(torch.empty(1, 3, height, width))
        if cfg.default_scope == "mmseg":
            model.decode_head(maps)
        elif not hasattr(model, "roi_head"):
            model.bbox_head(maps)
        else:
            _run_second_stage(model, maps)
    return {str(name): count // 2 for name, count in counter.get_flop_counts()["Global"].items()}


def _run_second_stage(model: nn.Module, maps: tuple) -> None:
    roi_head = model.roi_head
    if type(model).__name__ == "SparseRCNN":
        queries = model.rpn_head.num_proposals
        for head in roi_head.bbox_head:
            head(torch.empty(queries, head.in_channels, 7, 7), torch.empty(1, queries, 256))
        return
    model.rpn_head(maps)
    for heads, count, side in (
        (roi_head.bbox_head, _PROPOSALS, 7),
        (roi_head.mask_head, _MASKS, 14),
    ):
        for head in heads if isinstance(heads, nn.ModuleList) else [heads]:
            head(torch.empty(count, head.in_channels, side, side))


if __name__ == "__main__":
    facts = {name: facts_of(read(name)) for name in CONFIGS}
    text = json.dumps(facts, indent=1)
    # A group a line.
    text = re.sub(r"\{\s+\"lr\"[^{}]*\}", lambda one: " ".join(one[0].split()), text)
    part = KEPT.with_suffix(".part")
    part.write_text(text + "\n")
    part.replace(KEPT)
    print(f"{len(facts)} configs counted into {KEPT.relative_to(ROOT)}")
