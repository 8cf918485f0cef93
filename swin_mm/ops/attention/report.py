"""What computes the attention of a network, and why nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from swin_mm.ops.attention.choice import OBSTACLES, AttentionCase, choose
from swin_mm.ops.kernels.library import level, why_not
from swin_mm.ops.products import product_dtype


@dataclass(frozen=True)
class CaseReport:
    """Who may compute attentions that are alike.

    Attributes:
        where: path of the first of them in the network, ``""`` where there is none.
        number: how many there are.
        case: what they have in common.
        taken: the backend that ``"auto"`` takes.
        obstacles: why each backend cannot run, ``None`` where it can.
    """

    where: str
    number: int
    case: AttentionCase
    taken: str
    obstacles: dict[str, str | None]

    def __str__(self) -> str:
        case = self.case
        lines = [
            f"{self.where + ': ' if self.where else ''}{self.number} with windows of {case.tokens} "
            f"tokens, {case.heads} heads of {case.channels} channels, "
            f"{str(case.dtype).removeprefix('torch.')} on {case.device}"
        ]
        for name, obstacle in self.obstacles.items():
            can = "taken" if name == self.taken else "can run"
            lines.append(f"  {name:<10} {can if obstacle is None else f'cannot run: {obstacle}'}")
        return "\n".join(lines)


@dataclass(frozen=True)
class AttentionReport:
    """What computes the attention of each stage; ``str`` of it is for reading.

    Attributes:
        cases: in the network's order, neighbours that are alike together.
        blocks: who computes plain blocks on the CPU whole, and asks no backend; ``None`` elsewhere.
    """

    cases: tuple[CaseReport, ...]
    blocks: str | None = None

    def __str__(self) -> str:
        lines = [*map(str, self.cases)]
        if self.blocks:
            lines.append(
                f"asked by blocks with hooks, dropout and the like; plain ones {self.blocks}"
            )
        return "\n".join(lines)


def attention_report(
    attention: nn.Module | AttentionCase,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    training: bool | None = None,
    compiled: bool = False,
) -> AttentionReport:
    """Say which backend computes each attention of a network, and why another cannot.

    It asks what :func:`swin_mm.ops.window_attention` asks at every call. Nothing is computed, and
    the device need not be there; of a card that is not, the newest kind is supposed. On the CPU its
    last line says who computes the blocks that ask no backend.

    Args:
        attention: a backbone of ours, or anything with one in it; or a single case.
        device: as if the network were there; where its parameters are by default.
        dtype: of the tokens, autocast's under autocast; the parameters' by default.
        training: whether gradients are due and dropout is at work; ``attention.training`` by
            default.
        compiled: whether torch's compiler has the network.

    Raises:
        ValueError: if there is no window attention in the module.
    """
    if isinstance(attention, AttentionCase):
        return AttentionReport((_answer("", 1, attention),))
    training = attention.training if training is None else training
    found: list[CaseReport] = []
    kinds: set[torch.dtype] = set()
    for where, module in _attentions(attention):
        case = _case_of(module, training=training, compiled=compiled)
        kind = case.dtype if dtype is None else dtype
        kinds.add(kind)
        case = replace(
            case,
            device=case.device if device is None else torch.device(device).type,
            dtype=_widened(module, kind),
        )
        if found and found[-1].case == case:
            found[-1] = replace(found[-1], number=found[-1].number + 1)
        else:
            found.append(_answer(where, 1, case))
    if not found:
        raise ValueError(
            f"attention_report wants a network with window attention in it, got "
            f"{type(attention).__name__} without any; pass a backbone of swin_mm"
        )
    return AttentionReport(tuple(found), _blocks([one.case for one in found], kinds))


def _answer(where: str, number: int, case: AttentionCase) -> CaseReport:
    """Ask every backend about a case."""
    obstacles = {name: obstacle(case) for name, obstacle in OBSTACLES.items()}
    return CaseReport(where, number, case, choose(case), obstacles)


def _blocks(cases: list[AttentionCase], kinds: set[torch.dtype]) -> str | None:
    """Say who computes plain blocks on the CPU, where there are any."""
    if any(case.device != "cpu" or case.compiled for case in cases):
        return None
    obstacle = why_not()
    if obstacle is None and not kinds <= {torch.float32, torch.bfloat16}:
        obstacle = "they are for tokens of float32 and bfloat16"
    slow = [kind for kind in kinds if product_dtype(kind, torch.device("cpu")) != kind]
    products = "; products in float32, faster here" if slow else ""
    if obstacle is None:
        return f"run by compiled kernels ({level()}){products}"
    who = "torch's operators, a few windows at a time"
    return f"run by {who} (no compiled kernels: {obstacle}){products}"


def _attentions(network: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Find what attends within windows, which is told by what it has."""
    wanted = ("window_size", "num_heads", "qkv", "attn_drop")
    for path, module in network.named_modules():
        if all(hasattr(module, name) for name in wanted):
            yield path, module


def _case_of(module: nn.Module, *, training: bool, compiled: bool) -> AttentionCase:
    """Describe an attention as it stands in a shifted block, where windows are masked."""
    with torch.set_grad_enabled(training):
        bias: Tensor = module.bias()
    weight: Tensor = module.qkv.weight
    return AttentionCase(
        device=weight.device.type,
        dtype=weight.dtype,
        tokens=bias.shape[-1],
        heads=module.num_heads,
        channels=weight.shape[1] // module.num_heads,
        mask="one a window" if compiled else "shared",
        bias_learns=bias.requires_grad,
        tokens_learn=training and weight.requires_grad,
        dropout=training and module.attn_drop.p > 0,
        compiled=compiled,
    )


def _widened(module: nn.Module, dtype: torch.dtype) -> torch.dtype:
    """Say the queries' dtype: cosines (SwinV2) are float32 at least."""
    is_cosine = hasattr(module, "logit_scale")
    return torch.promote_types(dtype, torch.float32) if is_cosine else dtype
