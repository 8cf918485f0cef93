"""A run that stops at the first number that is not finite, and says where it came from."""

import functools
import json
import os
import re
from pathlib import Path

import pytest
import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.optim import AmpOptimWrapper
from mmengine.runner import Runner
from mmengine.structures import BaseDataElement
from torch import nn

from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine.finite import FiniteHook, NonFiniteError


class Toy(BaseModel):
    """Two layers, batch norm and dropout between them; told what to spoil, and when."""

    def __init__(self, spoil=None, at=2):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.last = nn.Linear(4, 1)
        self.spoil, self.at, self.seen = spoil, at, []

    def forward(self, inputs, data_samples=None, mode="loss"):
        pictures = [sample.img_path for sample in data_samples]
        number = int(re.search(r"\d+", pictures[0])[0])
        spoil = self.spoil if number == self.at else None
        x = torch.stack(inputs)
        if spoil == "weights":
            self.first.weight.data[0, 0] = float("nan")
        x = self.norm(self.first(x))
        if spoil == "activation":
            x = x.mul(1e30).mul(1e30)
        kept = self.drop(x)
        self.seen.append((number, kept.detach().clone()))
        x = self.last(kept).mean()
        term = x.new_tensor(float("inf")) if spoil == "loss" else x.new_tensor(0.0)
        if spoil == "gradient":
            x = x + (self.last.bias * 0).abs().sqrt().sum()
        return {"loss_box": x.square(), "loss_cls": term}


def batches(*, spoiled_inputs=False, number=6):
    for index in range(1, number + 1):
        inputs = [torch.rand(4) for _ in range(3)]
        if spoiled_inputs and index == 2:
            inputs[1][0] = float("nan")
        names = [f"{folder}/{index}.jpg" for folder in "abc"]
        yield {"inputs": inputs, "data_samples": [sample(name) for name in names]}


def sample(path):
    return BaseDataElement(metainfo={"img_path": path})


class Batches(torch.utils.data.IterableDataset):
    def __init__(self, **given):
        self.given = given

    def __iter__(self):
        return batches(**self.given)


def runner(folder, model, *, data=None, hook=None, **changes):
    wrapper = {"optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}}
    return Runner(
        model=model,
        work_dir=str(folder),
        train_dataloader=torch.utils.data.DataLoader(data or Batches(), batch_size=None),
        train_cfg={"type": "IterBasedTrainLoop", "max_iters": 4},
        optim_wrapper=changes.pop("optim_wrapper", wrapper),
        custom_hooks=[hook or {"type": "swin_mm.FiniteHook"}],
        default_hooks={"logger": None, "checkpoint": None, "sampler_seed": None},
        experiment_name=folder.name,
        randomness={"seed": 5},
        log_level="ERROR",
        **changes,
    )


def stopped(run):
    with pytest.raises(NonFiniteError) as caught:
        run.train()
    return str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        ("loss", ["not finite: loss_cls inf", "the outputs of all modules are finite"]),
        (
            "activation",
            [
                "not finite: loss_box nan",
                "first module whose output is not finite: drop ",
            ],
        ),
        (
            "gradient",
            ["the loss is finite, its gradient is not", "the parameter last.bias, 1 NaN of its 1"],
        ),
    ],
)
def test_a_run_stops_before_the_update_and_names_what_broke(tmp_path, spoil, says):
    run = runner(tmp_path, Toy(spoil))
    story = stopped(run)
    for said in ["the update of iteration 2 (epoch 1)", "a/2.jpg", "b/2.jpg", "c/2.jpg", *says]:
        assert said in story
    assert "1.jpg" not in story
    assert run.iter == 1
    assert all(p.isfinite().all() for p in run.model.parameters())
    logs = list(tmp_path.glob("**/*.log"))
    assert any(story.partition("\n")[0] in log.read_text() for log in logs)


@pytest.mark.parametrize("spoil", ["loss", "activation", "gradient"])
def test_the_checkpoint_is_the_run_as_it_was_before_the_iteration(tmp_path, spoil):
    sound = runner(tmp_path / "sound", Toy(), hook={"type": "swin_mm.FiniteHook"})
    sound.train_loop._max_iters = 1
    sound.train()
    story = stopped(runner(tmp_path / "spoiled", Toy(spoil)))
    path = re.search(r"before the update: (.*)", story)[1]
    assert os.path.basename(path) == "before_iter_2.pth"
    assert not list(Path(path).parent.glob("*.part"))
    saved = read_checkpoint(path)
    assert saved["meta"]["iter"] == 1
    for name, value in sound.model.state_dict().items():
        assert torch.equal(saved["state_dict"][name], value), name
    expected = sound.optim_wrapper.state_dict()["state"]
    for number, state in saved["optimizer"]["state"].items():
        assert torch.equal(state["momentum_buffer"], expected[number]["momentum_buffer"])


def test_the_batch_is_computed_again_with_the_same_dropout_and_statistics(tmp_path):
    model = Toy("loss")
    stopped(runner(tmp_path, model))
    (_, first), (_, again) = [kept for kept in model.seen if kept[0] == 2]
    assert torch.equal(first, again)
    assert 0 < (first == 0).sum() < first.numel()


def test_pictures_that_are_not_finite_are_told_from_modules(tmp_path):
    story = stopped(runner(tmp_path, Toy(), data=Batches(spoiled_inputs=True)))
    assert "what goes into the model is not finite already: 1 NaN of its 4 values" in story


def test_weights_that_were_broken_before_are_named_and_not_saved(tmp_path):
    story = stopped(runner(tmp_path, Toy("weights")))
    assert "the weights were not finite before it: first.weight, 1 NaN of its 4 x 4" in story
    assert not list(tmp_path.glob("before_iter_*"))


def test_save_false_saves_nothing(tmp_path):
    story = stopped(runner(tmp_path, Toy("loss"), hook=FiniteHook(save=False)))
    assert "before_iter" not in story
    assert not list(tmp_path.glob("before_iter_*"))


def test_an_accumulated_gradient_names_the_batch_that_it_came_with(tmp_path):
    wrapper = {
        "optimizer": {"type": "SGD", "lr": 0.1},
        "accumulative_counts": 2,
        "clip_grad": {"max_norm": 1.0},
    }
    for at in (1, 2):
        run = runner(tmp_path / str(at), Toy("gradient", at=at), optim_wrapper=dict(wrapper))
        assert f"iteration {at} " in stopped(run)


def test_a_sound_run_is_left_as_it_is(tmp_path):
    class Nothing(Hook):
        pass

    ends = []
    for hook in (FiniteHook(), Nothing()):
        run = runner(tmp_path, Toy(), hook=hook)
        run.train()
        ends.append(run.model.state_dict())
        assert "update_params" not in run.optim_wrapper.__dict__
        assert not run.optim_wrapper.optimizer._optimizer_step_pre_hooks
        assert not run.model.data_preprocessor._forward_hooks
    assert all(torch.equal(one, other) for one, other in zip(*map(dict.values, ends), strict=True))


@pytest.fixture
def amp(monkeypatch):
    """MMEngine's mixed precision, which asks for a GPU, on the CPU, a scaler of 4 included."""
    module = "mmengine.optim.optimizer.amp_optimizer_wrapper"
    monkeypatch.setattr(f"{module}.is_cuda_available", lambda: True)
    monkeypatch.setattr(
        f"{module}.GradScaler", functools.partial(torch.amp.GradScaler, "cpu", init_scale=4.0)
    )
    return {"type": AmpOptimWrapper, "optimizer": {"type": "SGD", "lr": 0.1}}


def test_a_step_that_a_loss_scaler_skips_is_no_error(tmp_path, amp):
    run = runner(tmp_path, Toy("gradient"), optim_wrapper=amp)
    run.train()
    assert run.iter == 4
    assert run.optim_wrapper.loss_scaler.get_scale() == 2.0


def test_a_loss_that_is_not_finite_is_one_under_a_scaler_too(tmp_path, amp):
    assert "not finite: loss_cls inf" in stopped(runner(tmp_path, Toy("loss"), optim_wrapper=amp))


def test_a_gradient_that_no_scale_makes_finite_is_an_error(tmp_path, amp, monkeypatch):
    monkeypatch.setattr("swin_mm.engine.finite.SMALLEST_SCALE", 3.0)
    story = stopped(runner(tmp_path, Toy("gradient"), optim_wrapper=amp))
    assert "the parameter last.bias" in story


def test_a_full_disk_does_not_hide_the_story(tmp_path, monkeypatch):
    run = runner(tmp_path, Toy("loss"))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run, "save_checkpoint", full)
    assert "NOT saved ([Errno 28] No space left on device)" in stopped(run)


def test_the_random_states_go_into_the_checkpoint(tmp_path):
    stopped(runner(tmp_path, Toy("loss")))
    (states,) = read_checkpoint(tmp_path / "before_iter_2.pth")["random_states"]
    assert {"python", "numpy", "torch"} <= states.keys()
    assert json.dumps(sorted(states))
