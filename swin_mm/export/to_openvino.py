"""OpenVINO's intermediate representation, .xml and .bin, in float32.

By way of ONNX: OpenVINO 2026.4 also converts torch's programs, but then refuses, or does not see,
sizes at which the last stages have several windows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from swin_mm.export import to_onnx
from swin_mm.export.compare import Run
from swin_mm.export.description import Description
from swin_mm.export.errors import ExportError


def write(program: Any, path: Path, description: Description) -> None:
    """Write a program, and its weights beside it.

    Args:
        program: of :func:`swin_mm.export.tracing.trace`.
        path: of the .xml file.
        description: names input and outputs, and goes into ``rt_info``.

    Raises:
        ExportError: if OpenVINO cannot convert it.
    """
    import openvino

    # Elsewhere than the results: what lies beside them is kept.
    with tempfile.TemporaryDirectory() as folder:
        onnx = Path(folder) / "network.onnx"
        to_onnx.write(program, onnx, description, opset=to_onnx.DEFAULT_OPSET)
        try:
            model = openvino.convert_model(onnx)
        except Exception as error:  # of its own kinds, by front end
            told = " ".join(str(error).split())
            raise ExportError(f"OpenVINO cannot convert this network: {told[:300]}") from error
        for key, value in description.as_metadata().items():
            model.set_rt_info(value, key.split("."))
        openvino.save_model(model, path, compress_to_fp16=False)


def load(path: Path) -> tuple[Run, str]:
    """Read the files back, computing in float32, and name what runs them."""
    import openvino

    options = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": str(torch.get_num_threads()),
    }
    compiled = openvino.Core().compile_model(path, "CPU", options)

    def run(pictures: Tensor) -> list[Tensor]:
        request = compiled.create_infer_request()  # one for each: after a failure, old results stay
        found = request.infer([pictures.numpy()])
        return [torch.from_numpy(found[output].copy()) for output in compiled.outputs]

    return run, f"OpenVINO {openvino.__version__.partition('-')[0]}"
