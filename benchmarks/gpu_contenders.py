"""Who is measured on a GPU, and how: built, run once, timed in turns."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import swin_mm
from swin_mm.ops.attention import prefer_attention

PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": None}
OURS = {"auto": None, "reference": "reference", "triton": "triton", "compiled": None}
"""Ours with the backend that ``"auto"`` takes, as a plain eager Swin, with our own kernels, and as
torch's compiler makes it."""

SMALL = dict(embed_dims=8, depths=(1, 1), num_heads=(1, 2), strides=(4, 2), out_indices=(0, 1))


@dataclass(frozen=True)
class Job:
    """What everyone does in a cell.

    Attributes:
        variant: ``"tiny"``, ``"base"`` or ``"large"``; ``"small"`` is a toy.
        shape: pictures, and their height and width, px.
        precision: of :data:`PRECISIONS`; the half ones are autocast.
        task: ``"inference"``, or ``"training"`` for a step without the optimiser.
        device: where.
    """

    variant: str
    shape: tuple[int, int, int]
    precision: str
    task: str
    device: str

    @property
    def name(self) -> str:
        """How the cell is called in the results."""
        batch, height, width = self.shape
        return f"{self.task}, {self.variant}, {height}x{width} b{batch}, {self.precision}"


def build(who: str, job: Job) -> nn.Module:
    """Build a contender with random weights, and without stochastic depth."""
    torch.manual_seed(0)
    if who in OURS:
        given = SMALL if job.variant == "small" else {"variant": job.variant}
        net = swin_mm.SwinTransformer(drop_path_rate=0.0, **given)
    elif who == "timm":
        net = _timm(job)
    else:
        net = _torchvision(job)
    net = net.to(job.device).train(job.task == "training")
    return torch.compile(net) if who == "compiled" else net


def _timm(job: Job) -> nn.Module:
    import timm

    name = {"tiny": "tiny", "small": "tiny"}.get(job.variant, job.variant)
    return timm.create_model(
        f"swin_{name}_patch4_window7_224",
        pretrained=False,
        features_only=True,
        img_size=job.shape[1:],
        drop_path_rate=0.0,
        **({"embed_dim": 24, "depths": (1, 1, 1, 1)} if job.variant == "small" else {}),
    )


def _torchvision(job: Job) -> nn.Module:
    import torchvision

    names = {"tiny": "swin_t", "small": "swin_t", "base": "swin_b"}
    if job.variant not in names:
        raise ValueError(f"torchvision has no Swin of the size {job.variant!r}")
    return _Maps(getattr(torchvision.models, names[job.variant])(weights=None).features)


class _Maps(nn.Module):
    """The stages' maps of torchvision's classifier, which has no dense model."""

    def __init__(self, features: nn.Module) -> None:
        super().__init__()
        self.features = features
        for module in features.modules():
            if type(module).__name__ == "StochasticDepth":
                module.p = 0.0

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = []
        for index, layer in enumerate(self.features):
            x = layer(x)
            if index % 2:
                maps.append(x)
        return maps


def runner(who: str, job: Job) -> Callable[[], None]:
    """Build a contender and return what it does once."""
    net = build(who, job)
    batch, height, width = job.shape
    x = torch.randn(batch, 3, height, width, device=job.device)
    dtype = PRECISIONS[job.precision]
    backend = OURS.get(who)
    if backend is not None:
        insist(backend, net, job.device, dtype)

    def run() -> None:
        taken = contextlib.nullcontext() if backend is None else prefer_attention(backend)
        with taken:
            with (
                torch.set_grad_enabled(job.task == "training"),
                torch.autocast(job.device, dtype, enabled=dtype is not None),
            ):
                maps = list(net(x))
            if job.task == "training":
                torch.autograd.backward(maps, [torch.ones_like(one) for one in maps])
                for parameter in net.parameters():
                    parameter.grad = None

    return run


def insist(backend: str, net: nn.Module, device: str, dtype: torch.dtype | None) -> None:
    """Make sure that a network is computed by the backend whose name the figure will bear.

    Raises:
        ValueError: if another would take its place.
    """
    with prefer_attention(backend):
        report = swin_mm.attention_report(net, device=device, dtype=dtype or torch.float32)
    for case in report.cases:
        if case.taken != backend:
            raise ValueError(f"{backend} {case.obstacles[backend]}")


def milliseconds(run: Callable[[], None], device: str) -> float:
    """Time a call, from an idle device to an idle device."""
    if device == "cpu":
        start = time.perf_counter()
        run()
        return 1e3 * (time.perf_counter() - start)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def peak_megabytes(run: Callable[[], None], device: str) -> float | None:
    """Memory that a call takes on top of what is there before it; the CPU's is not counted."""
    if device == "cpu":
        return None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)


def in_turns(runs: dict[str, Callable[[], None]], device: str, *, seconds: float) -> dict:
    """Warm everyone up, then let them take turns, whoever begins moving on from round to round.

    Args:
        runs: what each does once.
        device: where.
        seconds: after which no new round begins; there are 3 at least and 30 at most.

    Returns:
        Median, smallest and largest milliseconds and peak memory of each, or what went wrong.
    """
    found: dict[str, dict] = {}
    for who, run in list(runs.items()):
        try:
            run()
            found[who] = {"peak MB": peak_megabytes(run, device)}
        except Exception as error:
            found[who] = {"error": first_line(error)}
            del runs[who]
    times: dict[str, list[float]] = {who: [] for who in runs}
    order, start = list(runs), time.perf_counter()
    for turn in range(30):
        if turn >= 3 and time.perf_counter() - start > seconds:
            break
        for place in range(len(order)):
            who = order[(turn + place) % len(order)]
            times[who].append(milliseconds(runs[who], device))
    for who, values in times.items():
        found[who] |= {
            "ms": round(statistics.median(values), 3),
            "min": round(min(values), 3),
            "max": round(max(values), 3),
            "rounds": len(values),
        }
    return found


def first_line(error: Exception) -> str:
    """Say what went wrong, in a line."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[
        :300
    ]
