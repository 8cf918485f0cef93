"""From a network to one graph for all batches, heights and widths."""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swin_mm.export.errors import ExportError
from swin_mm.export.pooling import AveragingPool
from swin_mm.ops.attention import prefer_attention


def trace(network: nn.Module, example: Tensor, *, write_out: bool) -> Any:
    """Trace a network with dynamic batch, height and width. It stays as it is.

    Args:
        network: from one tensor to tensors, in evaluation mode.
        example: (B, C, H, W), whose size leaves no trace.
        write_out: compute attention by matrix products and a softmax, for runtimes without a
            fused operator, rather than by what torch chooses.

    Returns:
        A ``torch.export.ExportedProgram``.

    Raises:
        ExportError: if it cannot be traced, or torch is too old.
    """
    any_size = torch.export.Dim.DYNAMIC
    attention = prefer_attention("reference") if write_out else contextlib.nullcontext()
    twin = exportable(network)
    try:
        with torch.no_grad(), attention, _any_size_alike(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.export(
                twin,
                (example,),
                dynamic_shapes=({0: any_size, 2: any_size, 3: any_size},),
                strict=False,
                # What is true of every size, but beyond the solver, is checked when run.
                prefer_deferred_runtime_asserts_over_guards=True,
            )
    except ExportError:
        raise
    except Exception as error:  # the host's code is traced too, and tracers fail in many ways
        first = next(iter(str(error).strip().splitlines()), "")
        raise ExportError(
            f"torch.export cannot follow {type(network).__name__}: {type(error).__name__}: {first}"
        ) from error
    graphs = (module.graph for module in program.graph_module.modules() if hasattr(module, "graph"))
    for node in itertools.chain.from_iterable(graph.nodes for graph in graphs):
        node.meta.pop("stack_trace", None)  # lines of source, with the paths of this machine
    return program


def exportable(network: nn.Module) -> nn.Module:
    """Copy a network, but not its tensors, and replace what is exported for one size alone."""
    tensors = (*network.parameters(), *network.buffers())
    twin = copy.deepcopy(network, {id(tensor): tensor for tensor in tensors})
    for module in list(twin.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.AdaptiveAvgPool2d):
                setattr(module, name, AveragingPool(child.output_size))
            elif _is_upsample(child):
                setattr(module, name, _WholeUpsample(child))
    return twin


class _WholeUpsample(nn.Module):
    """MMSegmentation's ``Upsample`` by a whole factor, without a detour over fractions."""

    def __init__(self, upsample: nn.Module) -> None:
        super().__init__()
        self.factor = int(upsample.scale_factor)
        self.options = {"mode": upsample.mode, "align_corners": upsample.align_corners}

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, factor H, factor W)."""
        size = (x.shape[2] * self.factor, x.shape[3] * self.factor)
        return F.interpolate(x, size=size, **self.options)


def _is_upsample(module: nn.Module) -> bool:
    kind = type(module)
    return (
        kind.__module__.startswith("mmseg.")
        and kind.__name__ == "Upsample"
        and not module.size
        and isinstance(module.scale_factor, float)
        and module.scale_factor.is_integer()
    )


@contextlib.contextmanager
def _any_size_alike() -> Iterator[None]:
    """Let one graph serve sizes that come down to 1 with the others; torch's switch for it."""
    from torch.fx.experimental import _config

    takes = inspect.signature(torch.export.export).parameters
    if not hasattr(_config, "backed_size_oblivious") or (
        "prefer_deferred_runtime_asserts_over_guards" not in takes
    ):
        raise ExportError(
            "exports for all sizes need torch.export's options for unknown sizes, which torch "
            f"{torch.__version__} lacks; 2.13 is tested"
        )
    with _config.patch(backed_size_oblivious=True):
        yield
