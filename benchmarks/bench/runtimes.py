"""OpenVINO and onnxruntime, which run MMDetection's backbone exported for one size."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from bench.networks import Entrant


def enter_openvino(file: Path, precision: str, threads: int) -> Entrant:
    """Compile an ONNX file for the CPU; it computes in what it is told, and takes float32."""
    import openvino

    compiled = openvino.Core().compile_model(
        str(file),
        "CPU",
        {
            "INFERENCE_PRECISION_HINT": "f32" if precision == "fp32" else "bf16",
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
        },
    )
    request = compiled.create_infer_request()

    def forward(x: Tensor) -> list[Tensor]:
        found = request.infer([x.numpy()], share_inputs=True, share_outputs=True)
        return [torch.from_numpy(found[index]) for index in range(len(found))]

    return Entrant(forward)


def enter_onnxruntime(file: Path, threads: int) -> Entrant:
    """Load an ONNX file for the CPU, float32."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def forward(x: Tensor) -> list[Tensor]:
        return [torch.from_numpy(one) for one in session.run(None, {"x": x.numpy()})]

    return Entrant(forward)
