"""The figures that one can ask for by name, and what each is drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.figure import Figure

from swin_mm.ops import WindowPlan
from swin_mm.visualization.attention import draw_attention
from swin_mm.visualization.bias import draw_bias
from swin_mm.visualization.errors import DrawingError
from swin_mm.visualization.features import draw_features
from swin_mm.visualization.maps import map_of, over_tokens, plan_of
from swin_mm.visualization.masks import draw_masks
from swin_mm.visualization.network import Network
from swin_mm.visualization.picture import Picture, check_size, read_picture
from swin_mm.visualization.receptive_field import draw_receptive_fields
from swin_mm.visualization.stages import draw_stages
from swin_mm.visualization.style import sign
from swin_mm.visualization.windows import draw_windows

_SIDE, _SAMPLES = 224, 8  # px and number of the random inputs that stand for pictures


@dataclass(frozen=True)
class Wish:
    """What a figure is to show. What a figure does not look at is ``None``.

    Attributes:
        pictures: files.
        size: px of a picture's long side, or its width and height.
        image_scale: factor of a picture's own size.
        stage: number of a stage, from 0 on.
        block: number of a block of the stage, from 0 on.
        head: number of a head.
        token: x and y, px of the picture's file.
        channels: numbers of channels.
        samples: random inputs where there is no picture.
    """

    pictures: Sequence[str] = ()
    size: int | tuple[int, int] | None = None
    image_scale: float | None = None
    stage: int | None = None
    block: int | None = None
    head: int | None = None
    token: tuple[int, int] | None = None
    channels: Sequence[int] | None = None
    samples: int | None = None

    def picture(self, path: str | None = None) -> Picture:
        """Read a picture, the first where none is named, at the size that is wished for."""
        path = self.pictures[0] if path is None else path
        return read_picture(path, size=self.size, image_scale=self.image_scale)

    def blank_size(self) -> tuple[int, int]:
        """Tell the height and width of a picture where there is none, px."""
        if self.image_scale is not None:
            raise DrawingError("--image-scale is a factor of a --picture's size; there is none")
        size = self.size or _SIDE
        width, height = (size, size) if isinstance(size, int) else size
        check_size((height, width))
        return height, width


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    Attributes:
        draw: makes it.
        options: of :class:`Wish`, what it looks at.
        needs_picture: whether there must be one.
        shows_weights: whether the weights are seen in it.
    """

    draw: Callable[[Network, Wish], Figure]
    options: tuple[str, ...]
    needs_picture: bool = True
    shows_weights: bool = True


def draw_figure(name: str, network: Network, wish: Wish) -> Figure:
    """Draw a figure by its name, signed with what it was drawn from.

    Args:
        name: one of :data:`FIGURES`.
        network: what it is drawn from.
        wish: what it is to show.

    Raises:
        DrawingError: if the network or the picture does not have what is wished for.
    """
    kind = FIGURES[name]
    if kind.needs_picture and not wish.pictures:
        raise DrawingError(f"{name} is drawn over a picture; name one: --picture FILE")
    if len(wish.pictures) > 1 and "samples" not in kind.options:
        raise DrawingError(f"{name} takes one --picture, got {len(wish.pictures)}")
    with rc_context({"text.parse_math": False}):  # a file's name with two dollars is no formula
        figure = kind.draw(network, wish)
        sign(figure, str(network) if kind.shows_weights else network.name)
    return figure


def _stages(network: Network, wish: Wish) -> Figure:
    every = range(len(network.backbone.stages))
    stages = every if wish.stage is None else [wish.stage]
    return draw_stages(network, wish.picture().pixels, stages=stages)


def _shift(network: Network, wish: Wish) -> Figure:
    picture = wish.picture()
    stage, plan = _shifted_plan(network, picture.size, wish.stage)
    _, stride = map_of(network.backbone, picture.size, stage)
    return draw_windows(over_tokens(picture.pixels, plan.size, stride), plan)


def _masks(network: Network, wish: Wish) -> Figure:
    size = wish.picture().size if wish.pictures else wish.blank_size()
    stage, plan = _shifted_plan(network, size, wish.stage)
    return draw_masks(plan, mask_padding=network.backbone.stages[stage].blocks[0].attn.mask_padding)


def _bias(network: Network, wish: Wish) -> Figure:
    return draw_bias(network, stage=wish.stage or 0, block=wish.block or 0, head=wish.head or 0)


def _attention(network: Network, wish: Wish) -> Figure:
    stages = network.backbone.stages
    stage = min(2, len(stages) - 1) if wish.stage is None else wish.stage
    network.block(stage, 0)  # refused here where there is no such stage
    block = len(stages[stage].blocks) - 1 if wish.block is None else wish.block
    return draw_attention(
        network, wish.picture(), stage=stage, block=block, head=wish.head, token=wish.token
    )


def _features(network: Network, wish: Wish) -> Figure:
    return draw_features(network, wish.picture(), channels=wish.channels)


def _receptive_field(network: Network, wish: Wish) -> Figure:
    if wish.pictures:
        if wish.samples is not None:
            raise DrawingError("--samples counts random inputs; give it or --picture, not both")
        pictures = [wish.picture(path) for path in wish.pictures]
        sizes = {picture.size for picture in pictures}
        if len(sizes) > 1:
            met = ", ".join(f"{width}x{height}" for height, width in sorted(sizes))
            raise DrawingError(
                f"pictures must be of one size to be averaged, these are {met} (width x height); "
                "bring them to one by --size WIDTHxHEIGHT"
            )
        inputs = [network.norm(picture.pixels) for picture in pictures]
        place, number = pictures[0].place(wish.token), len(pictures)
        of = f"{number} picture{'s' * (number > 1)}"
    else:
        number = _SAMPLES if wish.samples is None else wish.samples
        if number < 1:
            raise DrawingError(f"--samples must be 1 or more, got {number}")
        weight = network.backbone.patch_embed.projection.weight
        height, width = wish.blank_size()
        inputs = _Noise((1, weight.shape[1], height, width), number, like=weight)
        blank = Picture(np.zeros((height, width, 3), np.uint8))
        place = blank.place(wish.token)
        of = f"{number} random input{'s' * (number > 1)}"
    return draw_receptive_fields(network, inputs, place=place, of=of)


class _Noise(Sequence):
    """Random inputs, each drawn when it is looked at: any number of them fits into memory."""

    def __init__(self, size: tuple[int, ...], count: int, *, like: torch.Tensor) -> None:
        self._size, self._count, self._like = size, count, like

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> torch.Tensor:
        if not 0 <= number < self._count:
            raise IndexError(number)
        draws = torch.Generator().manual_seed(number)
        return torch.randn(self._size, generator=draws).to(self._like)


def _shifted_plan(
    network: Network, size: tuple[int, int], stage: int | None
) -> tuple[int, WindowPlan]:
    """Find the windows of a shifted block; by default of the last stage that has all four masks."""
    every = range(len(network.backbone.stages)) if stage is None else [stage]
    plans = {}
    for one in every:
        network.block(one, 0)
        tokens, _ = map_of(network.backbone, size, one)
        for block in network.backbone.stages[one].blocks:
            plan = plan_of(block, tokens)
            if any(plan.shift):
                plans[one] = plan
    if not plans:
        tokens, _ = map_of(network.backbone, size, every[-1])
        raise DrawingError(
            f"no block of stage {every[-1]} shifts its windows: it has "
            f"{len(network.backbone.stages[every[-1]].blocks)} blocks, a map of "
            f"{tokens[0]}x{tokens[1]} tokens and small_maps="
            f"{network.backbone.stages[every[-1]].blocks[0].attn.small_maps!r}. Choose another "
            "--stage, or a larger --size"
        )
    roomy = [one for one, plan in plans.items() if min(plan.counts) > 1]
    chosen = (roomy or list(plans))[-1]
    return chosen, plans[chosen]


_PICTURE = ("picture", "size", "image_scale")

FIGURES = {
    "windows": Kind(_stages, (*_PICTURE, "stage"), shows_weights=False),
    "shift": Kind(_shift, (*_PICTURE, "stage"), shows_weights=False),
    "masks": Kind(_masks, (*_PICTURE, "stage"), needs_picture=False, shows_weights=False),
    "bias": Kind(_bias, ("stage", "block", "head"), needs_picture=False),
    "attention": Kind(_attention, (*_PICTURE, "stage", "block", "head", "token")),
    "features": Kind(_features, (*_PICTURE, "channels")),
    "receptive-field": Kind(_receptive_field, (*_PICTURE, "token", "samples"), needs_picture=False),
}
