"""The networks of the papers, by name (Liu et al. 2021, sec. 3.3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """What tells the networks of a family apart.

    Attributes:
        embed_dims: channels of the first stage; each stage doubles them.
        depths: blocks of each stage.
        num_heads: heads of each stage, 32 channels each.
    """

    embed_dims: int
    depths: tuple[int, ...]
    num_heads: tuple[int, ...]


VARIANTS = {
    "tiny": Variant(96, (2, 2, 6, 2), (3, 6, 12, 24)),
    "small": Variant(96, (2, 2, 18, 2), (3, 6, 12, 24)),
    "base": Variant(128, (2, 2, 18, 2), (4, 8, 16, 32)),
    "large": Variant(192, (2, 2, 18, 2), (6, 12, 24, 48)),
}


def find_variant(name: str) -> Variant:
    """Return a variant by name.

    Raises:
        ValueError: if no variant has that name.
    """
    if not isinstance(name, str) or name not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {name!r}")
    return VARIANTS[name]
