"""The classifier's linear layer, which stands beside or behind a backbone, by layout."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from swin_mm.checkpoints.detect import Found
from swin_mm.checkpoints.formats.patterns import match

HEAD = "head.fc"
"""Our name of it, which is MMPretrain's."""


def head_of(tensors: Mapping[str, Tensor], found: Found) -> dict[str, str]:
    """Find the classifier's layer in a file.

    It is behind the backbone's prefix (Microsoft, timm, torchvision), or behind what precedes the
    prefix's last part: ``classifier`` beside ``swin.``, ``head.fc`` beside ``backbone.``.

    Returns:
        The file's names by ours; empty if there is none.
    """
    if found.layout.head is None:
        return {}
    for prefix in dict.fromkeys([found.prefix, found.outer]):
        named = {
            f"{HEAD}.{fields['t']}": key
            for key in tensors
            if key.startswith(prefix)
            and (fields := match(found.layout.head, key.removeprefix(prefix), found.last))
        }
        if f"{HEAD}.weight" in named:
            return named
    return {}
