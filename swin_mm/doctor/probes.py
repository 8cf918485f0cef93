"""What the doctor asks of each library, `python probes.py NAME`: run alone, in its own process.

A probe says what it does next (`step`), so that a crash has a place, and returns its facts. It
tries the thing itself, on toy sizes, instead of concluding from versions.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MARK = "@doctor "
TOY = {"embed_dims": 8, "depths": (1, 1, 1, 1), "num_heads": (1, 1, 2, 2), "window_size": 4}


def say(**line: Any) -> None:
    """Tell the parent something, below whatever else was printed."""
    print("\n" + MARK + json.dumps(line), flush=True)


def library(name: str) -> dict[str, Any]:
    """Import a library and nothing else."""
    say(step=f"import {name}")
    module = importlib.import_module(name)
    return {"version": str(getattr(module, "__version__", ""))}


def torch() -> dict[str, Any]:
    """What torch is and what this machine gives it."""
    say(step="import torch")
    import torch

    say(step="hand an array of NumPy to torch")
    import numpy as np

    torch.from_numpy(np.ones(2)).numpy()
    say(step="look for devices")
    devices = []
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            card = torch.cuda.get_device_properties(index)
            capability = f"{card.major}.{card.minor}"
            bytes_ = card.total_memory
            devices.append({"name": card.name, "capability": capability, "memory": bytes_})
        say(step="compute on the GPU")
        assert torch.ones(8, 8, device="cuda").matmul(torch.ones(8, 8, device="cuda")).sum() == 512
    say(step="compute in bfloat16")
    torch.ones(8, 8, dtype=torch.bfloat16) @ torch.ones(8, 8, dtype=torch.bfloat16)
    distributed = torch.distributed.is_available()
    return {
        "version": torch.__version__,
        "cuda": torch.version.cuda or torch.version.hip,
        "devices": devices,
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "weights_only": "weights_only" in inspect.signature(torch.load).parameters,
        "gloo": distributed and torch.distributed.is_gloo_available(),
        "nccl": distributed and torch.distributed.is_nccl_available(),
    }


def compile() -> dict[str, Any]:
    """Compile a function anew, where torch keeps what it compiles."""
    say(step="import torch")
    import torch

    say(step="compile a toy function")
    place = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or tempfile.gettempdir()
    with tempfile.TemporaryDirectory(dir=place if os.path.isdir(place) else None) as fresh:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = fresh
        device = "cuda" if torch.cuda.is_available() else "cpu"
        start = time.perf_counter()
        double = torch.compile(lambda x: torch.tanh(x) * 2 + x)
        assert double(torch.zeros(64, device=device)).sum() == 0
        return {"seconds": round(time.perf_counter() - start, 1), "device": device}


def mmcv() -> dict[str, Any]:
    """Mmcv's compiled operators: those of Mask R-CNN, then that of deformable attention."""
    say(step="import mmcv")
    import mmcv

    say(step="import mmcv.ops")
    import torch
    from mmcv import ops

    facts: dict[str, Any] = {"version": mmcv.__version__}
    facts["cuda"] = ops.get_compiling_cuda_version().replace("not available", "")
    say(step="run nms and roi_align")
    boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.9]])
    assert ops.nms(boxes, torch.tensor([0.9, 0.8]), 0.5)[1].tolist() == [0]
    assert ops.roi_align(torch.ones(1, 1, 4, 4), torch.tensor([[0, 0.0, 0, 4, 4]]), 2).sum() == 4
    if torch.cuda.is_available() and facts["cuda"]:
        say(step="run nms on the GPU")
        assert ops.nms(boxes.cuda(), torch.tensor([0.9, 0.8]).cuda(), 0.5)[1].tolist() == [0]
    return facts


def deformable() -> dict[str, Any]:
    """Deformable attention, which DINO and Mask2Former are made of."""
    say(step="import mmcv.ops")
    import torch
    from mmcv.ops import MultiScaleDeformableAttention

    say(step="run ms_deform_attn")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    attend = MultiScaleDeformableAttention(embed_dims=8, num_heads=2, num_levels=1, num_points=2)
    tokens, points = torch.rand(4, 1, 8, device=device), torch.full((1, 4, 1, 2), 0.5)
    attend.to(device)(
        tokens,
        value=tokens,
        reference_points=points.to(device),
        spatial_shapes=torch.tensor([[2, 2]], device=device),
        level_start_index=torch.tensor([0], device=device),
    )
    return {"device": device}


def contradictions() -> dict[str, Any]:
    """What `pip check` says of requirements that are not met."""
    say(step="pip check")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "check"]
    # A checkout in reach of this process is no installation.
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=sys.prefix, env=bare)
    lines = [line for line in ended.stdout.splitlines() if line and "No broken" not in line]
    return {"lines": lines, "pip": "No module named pip" not in ended.stderr}


def backbone() -> dict[str, Any]:
    """A toy backbone, forward and backward."""
    say(step="import swin_mm")
    import torch

    swin_mm = importlib.import_module("swin_mm")  # as a user's program does, from outside
    say(step="run a backbone forward and backward")
    maps = swin_mm.SwinTransformer(**TOY)(torch.rand(1, 3, 37, 50))
    sum(one.sum() for one in maps).backward()
    assert [tuple(one.shape[2:]) for one in maps] == [(10, 13), (5, 7), (3, 4), (2, 2)]
    kernels = importlib.import_module("swin_mm.ops.kernels")
    why = kernels.why_not()
    return {"version": swin_mm.__version__, "kernels": kernels.level(), "without kernels": why}


def detector() -> dict[str, Any]:
    """A toy Mask R-CNN: the loss of one picture, its gradient, a prediction."""
    say(step="import mmdet")
    import mmdet
    import mmdet.models
    import torch
    from mmdet.registry import MODELS
    from mmdet.structures import DetDataSample
    from mmdet.structures.mask import BitmapMasks
    from mmengine.registry import init_default_scope
    from mmengine.structures import InstanceData

    say(step="build Mask R-CNN")
    init_default_scope("mmdet")
    model = MODELS.build(_toy_model("mask_rcnn_fpn"))
    say(step="train Mask R-CNN")
    truth = InstanceData(
        bboxes=torch.tensor([[4.0, 4.0, 40.0, 40.0]]),
        labels=torch.tensor([0]),
        masks=BitmapMasks([_square(4, 40)], 64, 64),
    )
    size = {"img_shape": (64, 64), "ori_shape": (64, 64), "batch_input_shape": (64, 64)}
    meta = {**size, "scale_factor": (1.0, 1.0), "img_id": 0, "pad_shape": (64, 64)}
    sample = DetDataSample(metainfo=meta, gt_instances=truth)
    return _learn_and_predict(model, sample, mmdet.__version__, "Mask R-CNN")


def segmentor() -> dict[str, Any]:
    """A toy UPerNet: the loss of one picture, its gradient, a prediction."""
    say(step="import mmseg")
    import mmseg
    import mmseg.models
    import torch
    from mmengine.registry import init_default_scope
    from mmengine.structures import PixelData
    from mmseg.registry import MODELS
    from mmseg.structures import SegDataSample

    say(step="build UPerNet")
    init_default_scope("mmseg")
    cfg = _toy_model("upernet")
    for head in (cfg.decode_head, cfg.auxiliary_head):
        head.update(channels=8, norm_cfg={"type": "BN"})
    model = MODELS.build(cfg)
    say(step="train UPerNet")
    meta = {"img_shape": (64, 64), "ori_shape": (64, 64), "pad_shape": (64, 64)}
    truth = PixelData(data=torch.zeros(1, 64, 64, dtype=torch.long))
    sample = SegDataSample(metainfo=meta, gt_sem_seg=truth)
    return _learn_and_predict(model, sample, mmseg.__version__, "UPerNet")


def _toy_model(name: str) -> Any:
    """A model of ours at toy width."""
    from mmengine.config import Config

    model = Config.fromfile(ROOT / f"configs/_base_/models/{name}.py").model
    model.backbone.update(TOY)
    channels = [8, 16, 32, 64]
    if "neck" in model:
        model.neck.update(in_channels=channels, out_channels=8)
        model.rpn_head.update(in_channels=8, feat_channels=8)
        roi = model.roi_head
        roi.bbox_roi_extractor.out_channels = roi.mask_roi_extractor.out_channels = 8
        roi.bbox_head.update(in_channels=8, fc_out_channels=8)
        roi.mask_head.update(in_channels=8, conv_out_channels=8)
        model.train_cfg.rpn_proposal.max_per_img = model.test_cfg.rpn.max_per_img = 20
    else:
        model.decode_head.in_channels, model.auxiliary_head.in_channels = channels, 32
    return model


def _square(start: int, end: int) -> Any:
    import numpy as np

    mask = np.zeros((64, 64), dtype=np.uint8)
    mask[start:end, start:end] = 1
    return mask


def _learn_and_predict(model: Any, sample: Any, version: str, name: str) -> dict[str, Any]:
    import torch

    picture = torch.rand(1, 3, 64, 64).repeat(2, 1, 1, 1)
    losses = model.loss(picture, [sample, sample])
    total, _ = model.parse_losses(losses)
    total.backward()
    say(step=f"predict with {name}")
    with torch.no_grad():
        model.eval().predict(picture[:1], [sample])
    return {"version": version}


def missing(error: BaseException | None) -> str:
    """The module that was not found, below errors that tell of it in other words, as ours does."""
    if isinstance(error, ModuleNotFoundError):
        return error.name or ""
    return missing(error.__cause__) if isinstance(error, ImportError) else ""


def main(asked: str) -> int:
    """Run one probe and tell its outcome."""
    name, _, argument = asked.partition(":")
    try:
        probe = globals()[name]
        say(ok=True, facts=probe(argument) if argument else probe())
    except BaseException as error:  # a broken library raises what it likes, SystemExit too
        text = " ".join(str(error).split())
        say(ok=False, error=f"{type(error).__name__}: {text}"[:600], missing=missing(error))
        return 1
    return 0


if __name__ == "__main__":
    # This file's folder would be searched first: it holds no library, but might one day. Behind
    # what is installed comes the clone, since swin_mm need not be installed to be examined.
    sys.path[:] = [*sys.path[1:], str(ROOT)]
    sys.exit(main(sys.argv[1]))
