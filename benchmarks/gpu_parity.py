"""How far each attention backend is from the reference in float64, and what it runs on the card."""

from __future__ import annotations

import torch
from gpu_contenders import PRECISIONS, first_line, insist
from torch import Tensor, nn

import swin_mm
from swin_mm.ops.attention import BACKENDS, prefer_attention, window_attention

SIZES = {"7 x 7": (96, 3, 49, 32), "8 x 8": (64, 3, 64, 32), "12 x 12": (24, 4, 144, 32)}
TOY = {"3 x 3": (3, 2, 9, 16)}
"""Windows, heads, tokens, channels of a head."""


def attention_parity(device: str, precision: str, *, small: bool) -> dict:
    """Compare results and gradients of one attention, masked, with a bias that learns.

    Returns:
        For each size and backend the largest difference by the largest value, of the result and of
        the gradients of queries, keys, values together and of the bias; or what went wrong.
    """
    found: dict[str, dict] = {}
    for name, size in (TOY if small else SIZES).items():
        if precision == "fp32" and name == "12 x 12":
            continue  # Triton compiles its exact products for minutes there
        exact = _attend("reference", size, device, torch.float64)
        found[name] = {}
        for backend in BACKENDS:
            try:
                got = _attend(backend, size, device, PRECISIONS[precision] or torch.float32)
                found[name][backend] = dict(
                    zip(("result", "qkv", "bias"), map(_distance, got, exact), strict=True)
                )
            except Exception as error:
                found[name][backend] = {"error": first_line(error)}
    return found


def _attend(
    backend: str, size: tuple[int, int, int, int], device: str, dtype: torch.dtype
) -> list[Tensor]:
    """Compute a result and its gradients from numbers that every dtype here has exactly."""
    windows, heads, tokens, channels = size
    generator = torch.Generator().manual_seed(0)
    wide = torch.float64 if dtype == torch.float64 else torch.float32

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(torch.bfloat16).to(torch.float16)

    qkv = draw(windows, tokens, 3, heads, channels).to(device, dtype).requires_grad_()
    bias = draw(heads, tokens, tokens).to(device, wide).requires_grad_()
    mask = (torch.rand(tokens, tokens, generator=generator) > 0.3).fill_diagonal_(True).to(device)
    weights = draw(windows, heads, tokens, channels).to(device, dtype)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    out = window_attention(q, k, v, bias=bias, mask=mask, backend=backend)
    return [out, *torch.autograd.grad(out, (qkv, bias), weights)]


def network_parity(device: str, *, small: bool) -> dict:
    """Compare a whole Swin-T, and what its first weights learn, with itself in float64."""
    net = _random_tiny(small).to(device, torch.float64)
    height, width = (36, 52) if small else (231, 317)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 3, height, width, generator=generator, dtype=torch.float64).to(device)
    exact = _maps_and_gradients(net, x, "reference", None)
    net, x = net.float(), x.float()
    found: dict[str, dict] = {}
    for precision, dtype in PRECISIONS.items():
        for backend in BACKENDS:
            name = f"{backend}, {precision}"
            try:
                insist(backend, net, device, dtype)
                got = _maps_and_gradients(net, x, backend, dtype)
                found[name] = {
                    "maps": max(map(_distance, got[0], exact[0])),
                    "gradients": max(map(_distance, got[1], exact[1])),
                }
            except Exception as error:
                found[name] = {"error": first_line(error)}
    return found


def _random_tiny(small: bool) -> nn.Module:
    """Build a Swin-T whose every parameter is random, tables, biases and norms too."""
    given = dict(embed_dims=16, depths=(2, 1), num_heads=(1, 2), strides=(4, 2)) if small else {}
    outs = {"out_indices": (0, 1)} if small else {}
    net = swin_mm.SwinTransformer(drop_path_rate=0.0, **given, **outs)
    generator = torch.Generator().manual_seed(0)
    for parameter in net.parameters():
        shift = 1.0 if parameter.dim() == 1 else 0.0
        drawn = torch.randn(parameter.shape, generator=generator)
        parameter.data = shift * (parameter.data == 1) + 0.05 * drawn
    return net


def _maps_and_gradients(
    net: nn.Module, x: Tensor, backend: str, dtype: torch.dtype | None
) -> tuple[list[Tensor], list[Tensor]]:
    with prefer_attention(backend):
        with torch.autocast(x.device.type, dtype, enabled=dtype is not None):
            maps = list(net(x))
        loss = sum(one.double().square().mean() for one in maps)
        return maps, list(torch.autograd.grad(loss, list(net.parameters())))


def _distance(got: Tensor, exact: Tensor) -> float:
    difference = (got.detach().double() - exact.detach().double()).abs().max()
    return float(f"{(difference / exact.detach().abs().max()).item():.2e}")


def kernels(device: str, *, small: bool) -> dict:
    """Name what runs on the card for a training step of each backend, the longest first."""
    if device == "cpu":
        return {"error": "the CPU has no kernels to name"}
    found: dict[str, list[str] | dict] = {}
    size = next(iter((TOY if small else SIZES).values()))
    for backend in BACKENDS:
        for precision, dtype in PRECISIONS.items():
            try:
                _attend(backend, size, device, dtype or torch.float32)
                with torch.profiler.profile(
                    activities=[torch.profiler.ProfilerActivity.CUDA]
                ) as profile:
                    _attend(backend, size, device, dtype or torch.float32)
                    torch.cuda.synchronize()
                events = sorted(profile.key_averages(), key=lambda one: -one.device_time_total)
                found[f"{backend}, {precision}"] = [one.key[:120] for one in events[:6]]
            except Exception as error:
                found[f"{backend}, {precision}"] = {"error": first_line(error)}
    return found
