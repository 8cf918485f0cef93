"""A run that stops at the first number that is not finite, and says where it came from."""

import functools
import io
import logging
import os
import re
from pathlib import Path

import pytest
import torch
from mmengine.hooks import EMAHook, Hook
from mmengine.optim import AmpOptimWrapper, OptimWrapper, OptimWrapperDict
from spoiled_training import Batches, Toy, runner, stopped
from torch import nn

from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine import finite, whole_files
from swin_mm.engine.culprit import Culprit
from swin_mm.engine.finite import FiniteHook


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
    run, console = runner(tmp_path, Toy(spoil)), io.StringIO()
    run.logger.addHandler(logging.StreamHandler(console))
    story = stopped(run)
    for said in ["the update of iteration 2 (epoch 1)", "a/2.jpg", "b/2.jpg", "c/2.jpg", *says]:
        assert said in story
    assert "1.jpg" not in story
    assert run.iter == 1
    assert all(p.isfinite().all() for p in run.model.parameters())
    logs = list(tmp_path.glob("**/*.log"))
    assert any(story.partition("\n")[0] in log.read_text() for log in logs)
    assert "not finite" not in console.getvalue()  # whoever catches the error tells it
    assert "update_params" not in run.optim_wrapper.__dict__


@pytest.mark.parametrize("spoil", ["loss", "activation", "gradient"])
def test_the_checkpoint_is_the_run_as_it_was_before_the_iteration(tmp_path, spoil):
    sound = runner(tmp_path / "sound", Toy(), hook={"type": "swin_mm.FiniteHook"})
    sound.train_loop._max_iters = 1
    sound.train()
    story = stopped(runner(tmp_path / "spoiled", Toy(spoil)))
    path = re.search(r"before the update: (.*)", story)[1]
    assert f"--resume {path}" in story
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
    assert "before_iter_2.pth" in story  # running means took part of them; they are taken back


def test_weights_that_were_broken_before_are_named_and_not_saved(tmp_path):
    run = runner(tmp_path, Toy("weights"))
    run.message_hub.update_info("last_ckpt", "sound.pth")
    story = stopped(run)
    assert "the weights were not finite before it: first.weight, 1 NaN of its 4 x 4" in story
    assert "go on from sound.pth" in story
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
    for at in (1, 2, 3):  # no step, a step, no step after one
        run = runner(tmp_path / str(at), Toy("gradient", at=at), optim_wrapper=dict(wrapper))
        assert f"iteration {at} " in stopped(run)


def test_a_sound_run_is_left_as_it_is(tmp_path):
    class Nothing(Hook):
        pass

    ends, kept = [], FiniteHook()
    for hook in (kept, Nothing()):
        run = runner(tmp_path, Toy(), hook=hook)
        run.model.first.bias.requires_grad_(False)
        run.train()
        ends.append(run.model.state_dict())
        assert "update_params" not in run.optim_wrapper.__dict__
        assert not run.optim_wrapper.optimizer._optimizer_step_pre_hooks
        assert not run.model.data_preprocessor._forward_hooks
    assert all(torch.equal(one, other) for one, other in zip(*map(dict.values, ends), strict=True))
    assert kept._loss is None and kept._start is None  # no batch stays in memory


def test_the_mean_of_the_weights_and_checkpoints_come_after_the_check(tmp_path):
    run, check = runner(tmp_path, Toy(), hook=EMAHook()), FiniteHook()
    run.register_hook(check)
    later = run.hooks[run.hooks.index(check) + 1 :]
    assert any(isinstance(hook, EMAHook) for hook in later)


def test_what_is_not_trained_on_is_not_kept(tmp_path):
    class Looks(Hook):
        def after_train_iter(self, runner, *_, **__):
            runner.model.eval().data_preprocessor(next(iter(Batches())))
            assert hook._start is None

    hook = FiniteHook()
    run = runner(tmp_path, Toy(), hook=hook)
    run.register_hook(Looks(), priority="VERY_LOW")
    run.train()
    assert run.iter == 4


def test_a_process_whose_numbers_are_finite_stops_with_the_one_whose_are_not(tmp_path, monkeypatch):
    def reduced(broken, how):
        assert how == "max"
        broken.fill_(1)

    def gathered(mine):
        return [mine, Culprit(["z.jpg"], {}, "it is here")] if isinstance(mine, Culprit) else [mine]

    monkeypatch.setattr(finite, "all_reduce", reduced)
    monkeypatch.setattr(finite, "all_gather_object", gathered)
    story = stopped(runner(tmp_path, Toy()))
    assert "process 1: it is here" in story and "1.jpg" not in story


def test_no_process_saves_where_the_weights_of_one_were_broken(tmp_path, monkeypatch):
    def gathered(mine):
        return [mine, "norm.running_var, 1 NaN"] if isinstance(mine, str) else [mine]

    monkeypatch.setattr(finite, "all_gather_object", gathered)
    story = stopped(runner(tmp_path, Toy("loss")))
    assert "the weights were not finite before it: norm.running_var, 1 NaN" in story
    assert not list(tmp_path.glob("before_iter_*"))


def test_gradients_that_are_divided_among_processes_are_looked_at_whole(tmp_path, monkeypatch):
    class Divided:
        def full_tensor(self):
            return torch.tensor(float("inf"))

    monkeypatch.setattr(finite, "get_total_norm", lambda *_: Divided())
    assert "iteration 1 " in stopped(runner(tmp_path, Toy()))


def test_a_model_in_a_wrapper_for_several_devices_is_looked_into(tmp_path):
    run = runner(tmp_path, Toy("activation"))
    run.model = nn.DataParallel(run.model)
    run.model.train_step = run.model.module.train_step
    assert "first module whose output is not finite: drop " in stopped(run)


def test_each_of_several_optimizers_is_watched(tmp_path):
    class Two(Toy):
        def train_step(self, data, optim_wrapper):
            data = self.data_preprocessor(data, training=True)
            with optim_wrapper["last"].optim_context(self):
                loss, told = self.parse_losses(self(**data))
            optim_wrapper["last"].update_params(loss)
            return told

    model = Two("loss")
    wrappers = {
        name: OptimWrapper(torch.optim.SGD(getattr(model, name).parameters(), lr=0.1))
        for name in ("first", "last")
    }
    run = runner(tmp_path, model, optim_wrapper=OptimWrapperDict(**wrappers))
    entered, real = [], wrappers["last"].optim_context
    wrappers["last"].optim_context = lambda model: entered.append(model) or real(model)
    assert "not finite: loss_cls inf" in stopped(run)
    assert len(entered) == 3  # for two iterations, and to compute the second again


def test_an_accumulated_loss_is_divided_when_it_is_computed_again(tmp_path, monkeypatch):
    def find(*_, scale, **__):
        assert scale(torch.tensor(8.0)) == 4.0
        return Culprit(where="seen")

    monkeypatch.setattr(finite, "find_culprit", find)
    wrapper = {"optimizer": {"type": "SGD", "lr": 0.1}, "accumulative_counts": 2}
    assert "seen" in stopped(runner(tmp_path, Toy("loss"), optim_wrapper=wrapper))


def test_a_model_that_preprocesses_by_itself_is_stopped_with_less_to_tell(tmp_path):
    class Alone(Toy):
        def train_step(self, data, optim_wrapper):
            loss, told = self.parse_losses(self(**data))
            optim_wrapper.update_params(loss)
            return told

    story = stopped(runner(tmp_path, Alone("loss")))
    assert "the loss is inf" in story
    assert "random_states" not in read_checkpoint(tmp_path / "before_iter_2.pth")


@pytest.fixture
def amp(monkeypatch):
    """MMEngine's mixed precision, which asks for a GPU, on the CPU, a scaler of 4 included."""
    module = "mmengine.optim.optimizer.amp_optimizer_wrapper"
    monkeypatch.setattr(f"{module}.is_cuda_available", lambda: True)
    monkeypatch.setattr(
        f"{module}.GradScaler", functools.partial(torch.amp.GradScaler, "cpu", init_scale=4.0)
    )
    return {"type": AmpOptimWrapper, "optimizer": {"type": "SGD", "lr": 0.1}}


@pytest.mark.parametrize("how", ["plain", "fused", "accumulated"])
def test_a_step_that_a_loss_scaler_skips_is_no_error(tmp_path, amp, how):
    amp["optimizer"]["fused"] = how == "fused"
    amp["accumulative_counts"] = 2 if how == "accumulated" else 1
    run = runner(tmp_path, Toy("gradient", at=1), optim_wrapper=amp)
    run.train()
    assert run.iter == 4
    assert run.optim_wrapper.loss_scaler.get_scale() == 2.0


def test_a_loss_that_is_not_finite_is_one_under_a_scaler_too(tmp_path, amp):
    assert "not finite: loss_cls inf" in stopped(runner(tmp_path, Toy("loss"), optim_wrapper=amp))


def test_a_gradient_that_no_scale_makes_finite_is_an_error(tmp_path, amp, monkeypatch):
    monkeypatch.setattr("swin_mm.engine.finite.SMALLEST_SCALE", 3.0)
    story = stopped(runner(tmp_path, Toy("gradient"), optim_wrapper=amp))
    assert "the parameter last.bias" in story


def test_a_gradient_that_only_its_scale_makes_infinite_is_found_again(tmp_path, amp, monkeypatch):
    monkeypatch.setattr("swin_mm.engine.finite.SMALLEST_SCALE", 3.0)
    story = stopped(runner(tmp_path, Toy("scaled gradient"), optim_wrapper=amp))
    assert "the parameter last.bias, 1 infinite of its 1" in story


def test_the_batch_is_computed_again_in_the_same_precision(tmp_path, amp):
    model = Toy("loss")
    model.norm = nn.Identity()
    stopped(runner(tmp_path, model, optim_wrapper=amp))
    assert {kept.dtype for _, kept in model.seen} == {torch.bfloat16}


def test_a_full_disk_does_not_hide_the_story_and_keeps_no_half_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_files.os, "fsync", full)
    assert "NOT saved ([Errno 28] No space left on device)" in stopped(
        runner(tmp_path, Toy("loss"))
    )
    assert not list(tmp_path.glob("before_iter_*"))


def test_the_random_states_from_before_the_batch_go_into_that_checkpoint_alone(tmp_path):
    model, hook = Toy("loss"), FiniteHook()
    run = runner(tmp_path, model, hook=hook)
    stopped(run)
    (states,) = read_checkpoint(tmp_path / "before_iter_2.pth")["random_states"]
    assert {"python", "numpy", "torch"} <= states.keys()
    assert torch.equal(states["torch"], model.data_preprocessor.drawn_from[1])
    later = {}
    hook.before_save_checkpoint(run, later)
    assert not later
