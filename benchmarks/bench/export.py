"""Write MMDetection's backbone as an ONNX file for one size; runs in the main environment.

python -m bench.export WEIGHTS VARIANT HEIGHT WIDTH PICTURES FILE FOLDER_OF_ONNX
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import torch

from bench.networks import State, build_mmdet

ROOT = Path(__file__).parents[2]


def export(state: State, variant: str, shape: tuple[int, int, int], file: Path) -> None:
    """Write the file, float32.

    Args:
        state: weights of ours.
        variant: of the network.
        shape: pictures, height and width, px.
        file: to write.
    """
    net = build_mmdet(variant, state)
    net.train(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            (torch.randn(shape[0], 3, *shape[1:]),),
            str(file),
            dynamo=False,
            opset_version=17,
            input_names=["x"],
            output_names=[f"map{stage}" for stage in range(4)],
        )


def ask_for_export(state: State, variant: str, shape: tuple[int, int, int], file: Path) -> None:
    """Let the main environment, where MMDetection is, write the file.

    It borrows this environment's onnx, which torch's exporter wants.
    """
    weights = file.with_suffix(".pth")
    torch.save(dict(state), weights)
    found = importlib.util.find_spec("onnx")
    if found is None:
        raise ModuleNotFoundError("exporting wants onnx, which `make peers` brings")
    borrowed = Path(found.origin).parents[1]
    pictures, height, width = map(str, shape)
    words = [str(weights), variant, height, width, pictures, str(file), str(borrowed)]
    done = subprocess.run(
        [ROOT / ".venv/bin/python", "-W", "ignore", "-m", "bench.export", *words],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'benchmarks'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    weights.unlink()
    if done.returncode:
        raise RuntimeError(f"exporting MMDetection's backbone failed: {done.stderr[-800:]}")


if __name__ == "__main__":
    weights, variant, height, width, pictures, file, borrowed = sys.argv[1:]
    sys.path.append(borrowed)
    export(
        torch.load(weights, weights_only=True),
        variant,
        (int(pictures), int(height), int(width)),
        Path(file),
    )
