"""Checkpointing, layer decay, averaged weights, mixed precision, multi-scale test, on any config.

One config of each method stands for the others, which differ from it in numbers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import mmengine.optim.optimizer.amp_optimizer_wrapper as amp
import pytest
import torch
from mmengine.optim import AmpOptimWrapper, OptimWrapper
from model_facts import CONFIGS, build, read, wrapper_of
from shrinking import shrunk

from swin_mm import engine
from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine.launch import Device
from swin_mm.engine.training import _mix_precision

# The last of each in the alphabet, which is the smallest or the shortest.
METHODS = list({(read(name).zoo.method, read(name).zoo.data): name for name in CONFIGS}.values())
# A detector and a segmentor with each kind of head; the others' steps are tried at night.
BY_DAY = {
    "mask_rcnn_swin_t_1x",
    "mask2former_semantic_swin_t",
    "sem_fpn_swin_t",
    "upernet_swinv2_t",
}
STEPS = [
    pytest.param(name, marks=[] if name in BY_DAY else [pytest.mark.nightly]) for name in METHODS
]
LAYER_DECAY = {
    "optim_wrapper.constructor": "swin_mm.LayerDecayOptimWrapperConstructor",
    "optim_wrapper.paramwise_cfg.layer_decay_rate": 0.5,
}
pytestmark = pytest.mark.usefixtures("own_mmengine")


@pytest.fixture
def step(root: Path, tiny_scenes: Path, tmp_path: Path):
    """Train a small model of a config, and return its checkpoint."""

    def stepped(name: str, *, ema: bool = False, iters: int = 1, **options: object) -> Path:
        engine.train(
            str(root / "configs" / f"{name}.py"),
            work_dir=str(tmp_path),
            data_root=str(tiny_scenes),
            weights="none",
            max_iters=iters,
            image_scale=0.12,
            seed=0,
            ema=ema,
            options=shrunk(read(name)) | options,
        )
        return tmp_path / f"iter_{iters}.pth"

    return stepped


@pytest.mark.parametrize("name", STEPS)
def test_a_step_with_all_switches_and_then_a_test_at_several_scales(
    name: str, step, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    options = {"model.backbone.with_cp": True, **LAYER_DECAY}
    saved = step(name, ema=True, **options)
    content = read_checkpoint(saved)
    wrapper = read(name).optim_wrapper
    keys = wrapper.get("paramwise_cfg", {}).get("custom_keys", {})
    top = wrapper.optimizer.lr * keys.get("backbone", {}).get("lr_mult", 1.0)
    rates = {round(group["initial_lr"] / top, 6) for group in content["optimizer"]["param_groups"]}
    # The patch embedding lies below five blocks: six layers under the head.
    assert {round(0.5**above, 6) for above in range(1, 7)} <= rates
    assert content["ema_state_dict"]["steps"] == 1
    capsys.readouterr()
    config = next(tmp_path.glob("*.py"))
    engine.test(
        str(config), str(saved), work_dir=str(tmp_path / "test"), tta=True, options=eager(name)
    )
    told = capsys.readouterr().out
    assert "Tested" in told
    assert any(metric in told for metric in ("mIoU", "box AP", "no metrics"))


def test_averaged_weights_lie_where_a_test_looks_for_weights(step) -> None:
    rate = {"optim_wrapper.optimizer.lr": 0.1, "param_scheduler": []}
    last = read_checkpoint(step("retinanet_swin_t", iters=3, **rate))["state_dict"]
    content = read_checkpoint(step("retinanet_swin_t", iters=3, ema=True, **rate))
    mean, kept = content["state_dict"], content["ema_state_dict"]
    name = "bbox_head.retina_cls.weight"
    assert torch.equal(kept[f"module.{name}"], last[name])
    assert not torch.equal(mean[name], last[name])


def eager(name: str) -> dict[str, float]:
    """Options that let an untrained detector find something."""
    settings = read(name).model.get("test_cfg", {})
    if "score_thr" in settings:
        return {"model.test_cfg.score_thr": 0.0}
    return {"model.test_cfg.rcnn.score_thr": 0.0} if "score_thr" in settings.get("rcnn", {}) else {}


@pytest.mark.parametrize("name", METHODS)
def test_with_cp_reaches_every_block(name: str) -> None:
    cfg = read(name)
    cfg.merge_from_dict({"model.backbone.with_cp": True})
    blocks = [block for stage in build(cfg).backbone.stages for block in stage.blocks]
    assert len(blocks) >= 12
    assert all(block.with_cp for block in blocks)


@pytest.mark.filterwarnings("ignore:.*CUDA is not available")
@pytest.mark.parametrize("name", METHODS)
def test_mixed_precision_keeps_all_else_of_the_optimizer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amp, "is_cuda_available", lambda: True)
    cfg = read(name)
    model = build(cfg)
    plain = wrapper_of(model, cfg)
    _mix_precision(cfg, Device("cuda", "a card"))
    mixed = wrapper_of(model, cfg)
    assert isinstance(mixed, AmpOptimWrapper)
    assert mixed.clip_grad_kwargs == plain.clip_grad_kwargs
    settings = ("lr", "weight_decay")
    assert [[group[one] for one in settings] for group in mixed.optimizer.param_groups] == [
        [group[one] for one in settings] for group in plain.optimizer.param_groups
    ]


@pytest.mark.parametrize("name", STEPS)
def test_a_loss_in_half_precision_is_finite(
    name: str, step, monkeypatch: pytest.MonkeyPatch, half_products: Callable[[bool], None]
) -> None:
    """As `--amp` computes it on a GPU; but for NMS, which mmcv has in float32 alone on a CPU."""
    half_products(True)
    before = OptimWrapper.optim_context

    @contextmanager
    def halved(wrapper: OptimWrapper, model: torch.nn.Module) -> Iterator[None]:
        with before(wrapper, model), torch.autocast("cpu", dtype=torch.float16):
            yield

    monkeypatch.setattr(OptimWrapper, "optim_context", halved)
    if read(name).default_scope == "mmdet":
        from mmcv.ops.nms import NMSop

        apply = NMSop.apply
        monkeypatch.setattr(
            NMSop, "apply", lambda boxes, scores, *rest: apply(boxes.float(), scores.float(), *rest)
        )
    seen = []
    linear = torch.nn.functional.linear

    def watched(*words: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        result = linear(*words, **named)
        seen.append(result.dtype)
        return result

    monkeypatch.setattr(torch.nn.functional, "linear", watched)
    state = read_checkpoint(step(name))["state_dict"]
    assert torch.float16 in seen
    assert all(value.isfinite().all() for value in state.values())
