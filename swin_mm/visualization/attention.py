"""What a token attends to, over the picture and head by head."""

from __future__ import annotations

import math

import cv2
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from swin_mm.ops import WindowPlan
from swin_mm.visualization.attention_weights import Gaze, record_attention
from swin_mm.visualization.canvas import grid, hatch_padding, show, window_lines
from swin_mm.visualization.errors import DrawingError
from swin_mm.visualization.maps import map_of, over_tokens
from swin_mm.visualization.network import Network
from swin_mm.visualization.picture import Picture
from swin_mm.visualization.style import (
    INK,
    KINDS,
    PALE,
    PAPER,
    blank_figure,
    panel_at,
    small_title,
    title,
)
from swin_mm.visualization.windows import said_shift

_WIDTH, _LEFT, _GAP = 1400, 520, 36  # px: of the figure, of the picture's panel, between both
_NAMES, _BETWEEN = 30, 14  # px above a head's panel, and between panels
_SMALLEST = 116  # px of a head's panel


def draw_attention(
    network: Network,
    picture: Picture,
    *,
    stage: int,
    block: int,
    head: int | None = None,
    token: tuple[int, int] | None = None,
) -> Figure:
    """Draw what a token attends to: the mean of all heads over the picture, and each head alone.

    The weights are the block's own: of its queries and keys for this picture, with its bias and
    masks. Of a shifted block the heads' panels show the window as it is cut from the rolled map;
    what is hidden from the token is blank there, and padding hatched.

    Args:
        network: looks at the picture.
        picture: of any size.
        stage: which, from 0 on.
        block: which of the stage's, from 0 on.
        head: the one to show; ``None`` for all.
        token: x and y, px of the picture's file, in the token to ask; ``None`` for the centre.

    Raises:
        DrawingError: if there is no such block, head or token.
    """
    heads = network.block(stage, block).attn.w_msa.num_heads
    if head is not None and not 0 <= head < heads:
        raise DrawingError(
            f"--head must be 0 to {heads - 1}: stage {stage} has {heads} heads, got {head}"
        )
    y, x = picture.place(token)
    tokens, stride = map_of(network.backbone, picture.size, stage)
    query = (y // stride[0], x // stride[1])
    recording = record_attention(network, network.norm(picture.pixels), stage=stage, block=block)
    gaze, plan = recording.gaze(query), recording.plan

    shown = [("mean", gaze.weights.mean(0).numpy())]
    numbers = range(heads) if head is None else [head]
    shown += [(f"head {number}", gaze.weights[number].numpy()) for number in numbers]
    if len(shown) == 2 and head is None:
        shown.pop(0)  # of one head
    padded_height, padded_width = plan.padded_size
    left_height = min(_LEFT * padded_height / padded_width, 1100)
    columns, side = _columns_for(len(shown), plan.window, room=left_height + 120)
    tall = side * plan.window[0] / plan.window[1]
    rows = math.ceil(len(shown) / columns)
    height = max(left_height + 216, rows * (tall + _NAMES + _BETWEEN) + 40)
    figure = blank_figure(_WIDTH, height)

    width = left_height * padded_width / padded_height
    whole = panel_at(figure, (6, 48, width, left_height))
    _draw_whole(whole, picture, plan, gaze=gaze, query=query, stride=stride)
    kind = f"shifted by {said_shift(plan.shift)}" if any(plan.shift) else "not shifted"
    title(
        whole,
        f"Stage {stage}, block {block}: mean of {heads} head{'s' * (heads > 1)}",
        f"Token ★ in row {query[0]}, column {query[1]} of {tokens[0]}x{tokens[1]}, its window\n"
        f"of {plan.window[0]}x{plan.window[1]} framed. Windows {kind}. Darker is more,\n"
        f"panel by panel; equal would be {1 / int(gaze.allowed.sum()):.1%} a token.\n"
        + _what_is_not_picture(plan, gaze),
    )
    crop = _window_of(picture.pixels, plan, gaze=gaze, stride=stride, side=max(round(side), 8))
    for place, (name, weights) in enumerate(shown):
        row, column = divmod(place, columns)
        left = 6 + _LEFT + _GAP + column * (side + _BETWEEN)
        top = 24 + _NAMES + row * (tall + _NAMES + _BETWEEN)
        axes = panel_at(figure, (left, top, side, tall))
        _draw_head(axes, crop, plan, gaze=gaze, weights=weights)
        small_title(axes, name, f"up to {weights.max():.0%}", width=side)
    return figure


def _columns_for(number: int, window: tuple[int, int], *, room: float) -> tuple[int, float]:
    """Find how many panels go side by side, and their width, px, to fill a height."""
    across = _WIDTH - _LEFT - _GAP - 12
    for columns in range(1, number + 1):
        side = (across - _BETWEEN * (columns - 1)) / columns
        tall = side * window[0] / window[1] + _NAMES + _BETWEEN
        narrower = (across - _BETWEEN * columns) / (columns + 1)
        if math.ceil(number / columns) * tall <= room or narrower < _SMALLEST:
            break
    return columns, side


def _what_is_not_picture(plan: WindowPlan, gaze: Gaze) -> str:
    """Explain hatching and gray, where there are any."""
    said = ["Hatched: padding."] if any(plan.padding) else []
    if not gaze.allowed.all():
        said.append("Gray: hidden by the mask.")
    return " ".join(said)


def _draw_whole(
    axes: Axes,
    picture: Picture,
    plan: WindowPlan,
    *,
    gaze: Gaze,
    query: tuple[int, int],
    stride: tuple[int, int],
) -> None:
    """Show the picture, the borders of all windows, and the mean attention at its true place."""
    still = WindowPlan(plan.size, plan.window)
    fitted = _faded(over_tokens(picture.pixels, plan.size, stride, long_side=1000))
    height, width = plan.padded_size
    axes.imshow(fitted, extent=(0, plan.size[1], plan.size[0], 0), interpolation="antialiased")
    axes.set(xlim=(0, width), ylim=(height, 0))
    hatch_padding(axes, still)
    (mh, mw), (down, across) = plan.window, plan.shift
    mean = np.zeros(plan.padded_size)
    y0, x0 = gaze.window[0] * mh, gaze.window[1] * mw
    mean[y0 : y0 + mh, x0 : x0 + mw] = gaze.weights.mean(0).view(mh, mw).numpy()
    mean = np.roll(mean, plan.shift, (0, 1))
    _lay_over(axes, mean, most=_darkest(gaze, mean))
    counts = plan.counts
    if max(counts) <= 40:
        thin = max(counts) > 12
        window_lines(axes, plan, start=plan.shift, thin=thin)
    top, left = y0 + down, x0 + across
    frame = {"fill": False, "ec": KINDS[1].colour, "lw": 3, "zorder": 4, "clip_on": True}
    # A window that wraps around is in pieces at opposite borders.
    for y in (top, top - height):
        for x in (left, left - width):
            axes.add_patch(Rectangle((x, y), mw, mh, **frame))
    _star(axes, (query[1] + 0.5, query[0] + 0.5), size=15)


def _window_of(
    pixels: np.ndarray, plan: WindowPlan, *, gaze: Gaze, stride: tuple[int, int], side: int
) -> np.ndarray:
    """Cut a window out of the picture as the block does out of the rolled map, (h, w, 3)."""
    (mh, mw), padded = plan.window, plan.padded_size
    canvas = np.full((padded[0] * stride[0], padded[1] * stride[1], 3), 255, np.uint8)
    canvas[: pixels.shape[0], : pixels.shape[1]] = pixels
    offset = [
        (one * side + shift) * step
        for one, side, shift, step in zip(gaze.window, plan.window, plan.shift, stride, strict=True)
    ]
    rows = (offset[0] + np.arange(mh * stride[0])) % canvas.shape[0]
    columns = (offset[1] + np.arange(mw * stride[1])) % canvas.shape[1]
    crop = canvas[rows][:, columns]
    return _faded(cv2.resize(crop, (side, side * mh // mw), interpolation=cv2.INTER_CUBIC))


def _draw_head(
    axes: Axes, crop: np.ndarray, plan: WindowPlan, *, gaze: Gaze, weights: np.ndarray
) -> None:
    mh, mw = plan.window
    show(axes, crop, plan.window)
    _lay_over(axes, weights.reshape(mh, mw), most=_darkest(gaze, weights))
    for hidden in np.flatnonzero(~gaze.allowed.numpy()):
        y, x = divmod(int(hidden), mw)
        axes.add_patch(Rectangle((x, y), 1, 1, fc=PALE, ec="none"))
    in_padding = WindowPlan(plan.size, plan.window, plan.shift)
    _hatch(axes, in_padding, gaze)
    grid(axes, (0, 0, mw, mh), (1, 1), color=PAPER, lw=0.5)
    grid(axes, (0, 0, mw, mh), (mh, mw), color=INK, lw=1.2, clip_on=False)
    y, x = divmod(gaze.query, mw)
    _star(axes, (x + 0.5, y + 0.5), size=13)


def _hatch(axes: Axes, plan: WindowPlan, gaze: Gaze) -> None:
    """Hatch what padding lies in the window and may be seen, lightly: it is attended to too."""
    (mh, mw), (down, across) = plan.window, plan.shift
    height, width = plan.padded_size
    for number in np.flatnonzero(gaze.allowed.numpy()):
        y, x = divmod(int(number), mw)
        row = (gaze.window[0] * mh + y + down) % height
        column = (gaze.window[1] * mw + x + across) % width
        if row >= plan.size[0] or column >= plan.size[1]:
            axes.add_patch(
                Rectangle((x, y), 1, 1, fill=False, ec="#8995a3", hatch="////", lw=0, zorder=2)
            )


def _faded(pixels: np.ndarray) -> np.ndarray:
    """Gray, and half as dark: what lies over it has the colours."""
    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)[..., None].repeat(3, 2)
    return (255 - 0.55 * (255 - gray)).astype(np.uint8)


def _lay_over(axes: Axes, weights: np.ndarray, *, most: float) -> None:
    """Colour tokens by their weights, (h, w); those of none stay clear."""
    share = weights / max(most, 1e-12)
    colours = colormaps["Oranges"](0.25 + 0.75 * share)
    colours[..., 3] = np.where(weights > 0, 0.1 + 0.78 * share, 0)
    height, width = weights.shape
    axes.imshow(colours, extent=(0, width, height, 0), interpolation="none", zorder=1)
    axes.set(xlim=(0, axes.get_xlim()[1]), ylim=(axes.get_ylim()[0], 0))


def _darkest(gaze: Gaze, weights: np.ndarray) -> float:
    """The weight that is darkest: the largest, but let attention that is nearly equal stay pale."""
    return max(float(weights.max()), 3 / int(gaze.allowed.sum()))


def _star(axes: Axes, place: tuple[float, float], *, size: float) -> None:
    axes.plot(
        *place, marker="*", ms=size, mfc=KINDS[1].colour, mec=PAPER, mew=1.2, zorder=6, ls="none"
    )
