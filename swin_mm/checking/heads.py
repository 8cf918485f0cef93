"""How many classes a model's heads know, beside those of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from swin_mm.checking.faults import Fault, Findings

# A proposal head is none of them: it tells objects from background, whatever the classes are.
_HEADS = (
    "decode_head",
    "auxiliary_head",
    "bbox_head",
    "mask_head",
    "roi_head",
    "panoptic_head",
    "panoptic_fusion_head",
)
_COUNTS = ("num_classes", "num_things_classes")


def counted_classes(model: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Go through the settings of a model's config that count classes, by their dotted keys.

    A detector that reads the classes' names as text has room for tokens in their place: none.
    """
    if "language_model" in model:
        return
    yield from _counts(model, "model")


def _counts(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, int]]:
    for part in _HEADS:
        heads = node.get(part) or []
        several = isinstance(heads, list | tuple)
        for place, head in enumerate(heads if several else [heads]):
            below = f"{path}.{part}.{place}" if several else f"{path}.{part}"
            for name in _COUNTS:
                if isinstance(head.get(name), int):
                    yield f"{below}.{name}", head[name]
            yield from _counts(head, below)


def compare_heads(heads: Mapping[str, int], classes: int, findings: Findings) -> None:
    """Tell the heads that know another number of classes than the data set has."""
    for setting, count in heads.items():
        if count != classes:
            met = f"{setting} is {count}, the data set has {classes} classes"
            findings.add(Fault("class-count", findings.name, "", met))
