"""The manners of our Runner."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.model import BaseModel
from torch import nn

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine import whole_files
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.runner import QuietRunner
from swin_mm.engine.safe_loading import allow_safe_reading


class Toy(BaseModel):
    """One layer that learns to give zero."""

    def __init__(self, width: int = 2) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)

    def forward(self, inputs: torch.Tensor, mode: str = "tensor") -> dict | torch.Tensor:
        """Return the loss."""
        out = self.linear(torch.stack(inputs) if isinstance(inputs, list) else inputs)
        return {"loss": out.square().mean()} if mode == "loss" else out


class Numbers(torch.utils.data.Dataset):
    """Four inputs."""

    metainfo: dict = {}

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> dict:
        return {"inputs": torch.full((2,), float(index))}


def runner(work_dir: Path, model: nn.Module | None = None, **more: object) -> QuietRunner:
    return QuietRunner(
        model=model or Toy(),
        work_dir=str(work_dir),
        train_dataloader={
            "batch_size": 2,
            "num_workers": 0,
            "dataset": Numbers(),
            "sampler": {"type": "DefaultSampler", "shuffle": False},
        },
        train_cfg={"by_epoch": False, "max_iters": 2},
        optim_wrapper={
            "optimizer": {"type": "SGD", "lr": 0.1, "weight_decay": 0.1},
            "paramwise_cfg": {"custom_keys": {"bias": {"decay_mult": 0.0}}},
        },
        default_hooks={"checkpoint": {"type": "CheckpointHook", "by_epoch": False, "interval": 1}},
        cfg=Config({"experiment_name": work_dir.name}),
        experiment_name=work_dir.name,
        default_scope="mmengine",
        **more,
    )


def test_with_any_hook_a_kill_in_the_middle_of_saving_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = runner(tmp_path)
    one.train()
    path = tmp_path / "iter_2.pth"
    before = path.read_bytes()

    def killed(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(whole_files.os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        one.save_checkpoint(str(tmp_path), "iter_2.pth", by_epoch=False)
    assert path.read_bytes() == before


def test_no_other_file_is_left_after_saving(tmp_path: Path) -> None:
    runner(tmp_path).train()
    assert sorted(file.name for file in tmp_path.glob("*.pt*")) == ["iter_1.pth", "iter_2.pth"]


def test_the_preamble_goes_to_the_log_and_not_to_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    one = runner(tmp_path)
    one.speak(Notes())
    one.train()
    printed = capsys.readouterr().out
    (log,) = tmp_path.glob("*/*.log")
    for preamble in ("System environment", "paramwise_options"):
        assert preamble in log.read_text()
        assert preamble not in printed
    assert "SGD: 2 tensors, 1 of them without decay" in printed


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"optimizer": {"type": "AdamWW", "lr": 0.1}}, "no optimizer 'AdamWW'; did you mean AdamW"),
        ({"optimizer": {"type": "SGD", "lr": -1.0}}, "Invalid learning rate: -1"),
        ({"optimizer": {"type": "SGD", "lr": 0.1, "beta": 1}}, "'beta'"),
        (
            {
                "optimizer": {"type": "SGD", "lr": 0.1},
                "constructor": "swin_mm.LayerDecayOptimWrapperConstructor",
                "paramwise_cfg": {"layer_decay_rat": 0.8},
            },
            "did you mean layer_decay_rate",
        ),
    ],
)
def test_an_optimizer_that_cannot_be_is_a_usage_error(
    settings: dict, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"optim_wrapper cannot be built: .*{says}"):
        runner(tmp_path).build_optim_wrapper(settings)


def test_weights_that_must_fit_and_do_not_are_an_error(tmp_path: Path) -> None:
    wide = tmp_path / "iter_1.pth"
    torch.save({"state_dict": Toy(width=3).state_dict()}, wide)
    one = runner(tmp_path)
    one.must_fit = True
    with pytest.raises(UsageError, match=r"does not fit[\s\S]*size mismatch for linear\.weight"):
        one.load_checkpoint(str(wide))


def test_a_resume_writes_its_config_when_it_has_gone_on(tmp_path: Path, own_mmengine: None) -> None:
    allow_safe_reading()
    runner(tmp_path / "first").train()
    kept = str(tmp_path / "first/iter_2.pth")
    wide = runner(tmp_path / "wide", Toy(width=3), resume=True, load_from=kept)
    wide.must_fit = True
    with pytest.raises(UsageError, match="does not fit"):
        wide.train()
    runner(tmp_path / "second", resume=True, load_from=kept).train()
    assert [len(list(tmp_path.glob(f"{one}/*.py"))) for one in ("first", "wide", "second")] == [
        1,
        0,
        1,
    ]


def test_tensors_that_are_left_over_are_no_error(tmp_path: Path) -> None:
    more = tmp_path / "more.pth"
    torch.save({"state_dict": {**Toy().state_dict(), "ema": torch.ones(1)}}, more)
    one = runner(tmp_path)
    one.must_fit = True
    one.load_checkpoint(str(more))


def course(**numbers: object) -> list[dict]:
    return [{"type": "LinearLR", "start_factor": 0.1, "by_epoch": False, **numbers}]


def test_a_resumed_run_says_that_the_checkpoints_schedule_goes_on(
    tmp_path: Path, own_mmengine: None
) -> None:
    allow_safe_reading()
    first = runner(tmp_path / "first", param_scheduler=course(end=10))
    first.train()
    second = runner(tmp_path / "second", param_scheduler=course(end=20))
    second._resume, second._load_from = True, str(tmp_path / "first/iter_2.pth")
    warned = []
    second.logger.warning = warned.append
    second.train()
    assert any("end 10 in place of 20" in str(text) for text in warned)


def test_a_resumed_run_says_that_the_checkpoints_rates_go_on(
    tmp_path: Path, own_mmengine: None
) -> None:
    allow_safe_reading()
    runner(tmp_path / "first", param_scheduler=course(end=10)).train()
    second = runner(tmp_path / "second", param_scheduler=course(end=10))
    second.optim_wrapper["optimizer"].update(lr=0.5, weight_decay=0.3)
    second._resume, second._load_from = True, str(tmp_path / "first/iter_2.pth")
    warned = []
    second.logger.warning = warned.append
    second.train()
    (said,) = [text for text in warned if "Resume" in str(text)]
    assert "(lr 0.1 in place of 0.5, weight_decay 0.1 in place of 0.3)" in said
    assert second.optim_wrapper.optimizer.param_groups[0]["initial_lr"] == 0.1


def test_a_run_that_resumes_what_it_was_told_is_silent(tmp_path: Path, own_mmengine: None) -> None:
    allow_safe_reading()
    runner(tmp_path / "first", param_scheduler=course(end=10)).train()
    second = runner(tmp_path / "second", param_scheduler=course(end=10))
    second._resume, second._load_from = True, str(tmp_path / "first/iter_2.pth")
    warned = []
    second.logger.warning = warned.append
    second.train()
    assert not any("Resume" in str(text) for text in warned)


def test_a_resumed_run_refuses_a_schedule_of_other_kinds(
    tmp_path: Path, own_mmengine: None
) -> None:
    allow_safe_reading()
    runner(tmp_path / "first", param_scheduler=course(end=10)).train()
    steps = {"type": "MultiStepLR", "milestones": [5], "by_epoch": False}
    second = runner(tmp_path / "second", param_scheduler=[steps])
    second._resume, second._load_from = True, str(tmp_path / "first/iter_2.pth")
    with pytest.raises(UsageError, match="trained with 1 learning-rate schedulers"):
        second.train()


def test_a_run_does_not_go_on_from_weights_alone(tmp_path: Path) -> None:
    torch.save({"state_dict": Toy().state_dict()}, tmp_path / "weights.pth")
    one = runner(tmp_path / "work", load_from=str(tmp_path / "weights.pth"), resume=True)
    with pytest.raises(UsageError, match=r"weights\.pth holds weights alone.*load_from="):
        one.train()


def test_an_error_of_the_backbones_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CheckpointError("under 'backbone.': no Swin found")

    torch.save({"state_dict": Toy().state_dict()}, tmp_path / "other.pth")
    one = runner(tmp_path / "work")
    monkeypatch.setattr(one.model, "_load_from_state_dict", refuse)
    with pytest.raises(CheckpointError, match=r"other\.pth: under 'backbone\.'"):
        one.load_checkpoint(str(tmp_path / "other.pth"))
