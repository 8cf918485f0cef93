"""ONNX, of standard operators alone."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from swin_mm.export.compare import Run
from swin_mm.export.description import Description, package_version
from swin_mm.export.errors import ExportError

OPSETS = range(18, 24)
"""Operator sets that torch's exporter writes and onnxruntime reads."""
DEFAULT_OPSET = 18
LARGEST_FILE = 1_500_000_000
"""Bytes of weights that a file takes; more lie beside it, since one ends at 2 GB."""


def check_opset(opset: int) -> None:
    """Raise an ExportError for an operator set that cannot be written."""
    if opset not in OPSETS:
        raise ExportError(
            f"--opset is one of {OPSETS[0]} to {OPSETS[-1]}, got {opset}: torch's exporter writes "
            f"{OPSETS[0]} at least, and that is what onnxruntime has read since 1.14"
        )


def write(program: Any, path: Path, description: Description, *, opset: int) -> None:
    """Write a program; weights beyond 1.5 GB go into a file of the same name and ``.data``.

    Args:
        program: of :func:`swin_mm.export.tracing.trace`.
        path: of the file.
        description: names input and outputs, and goes into the metadata.
        opset: see :data:`OPSETS`.

    Raises:
        ExportError: if it cannot be written with standard operators.
    """
    try:
        with _quiet():
            written = torch.onnx.export(
                program,
                dynamo=True,
                opset_version=opset,
                input_names=[description.input],
                output_names=list(description.outputs),
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        told = re.sub(r"\s+", " ", str(error.__cause__ or error))
        raise ExportError(f"torch.onnx cannot write this network: {told[:300]}") from error
    model = written.model
    strange = sorted(set(model.opset_imports) - {""})
    if strange or model.opset_imports[""] != opset:
        raise ExportError(
            f"the file must hold ONNX's own operators of set {opset}, got {model.opset_imports}"
        )
    _name_sizes(model)
    for node in model.graph:  # the exporter notes the source line of each, with its path
        node.metadata_props.clear()
    model.producer_name, model.producer_version = "swin_mm", package_version()
    model.metadata_props.update(description.as_metadata())
    weights = sum(value.const_value.nbytes for value in model.graph.initializers.values())
    written.save(path, external_data=weights > LARGEST_FILE)


def load(path: Path) -> tuple[Run, str]:
    """Read the file back by onnxruntime, and name what runs it."""
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors; warnings tell of shapes that it works out itself
    threads = torch.get_num_threads()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def run(pictures: Tensor) -> list[Tensor]:
        return [torch.from_numpy(out) for out in session.run(None, {name: pictures.numpy()})]

    return run, f"onnxruntime {runtime.__version__}"


def _name_sizes(model: Any) -> None:
    """Call the input's sizes batch, height and width, in all shapes that are worked out of them."""
    shape = model.graph.inputs[0].shape
    names = {str(shape[0]): "batch", str(shape[2]): "height", str(shape[3]): "width"}
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    values = {*model.graph.inputs, *model.graph.outputs}
    values |= {out for node in model.graph for out in node.outputs}
    for value in values:
        for axis, size in enumerate(value.shape or ()):
            if not isinstance(size, int) and size.value is not None:
                value.shape[axis] = pattern.sub(lambda found: names[found[1]], size.value)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's progress, and its regrets over packages that are not there, to itself."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
