"""The hook in a Runner of MMEngine's own, as in a user's config without our tools."""

import copy
import pickle
from pathlib import Path

import pytest
import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import CheckpointLoader, Runner
from random_weights import randomise
from torch import nn
from torch.utils.data import Dataset

from swin_mm import SwinTransformer
from swin_mm.checkpoints import CheckpointError, read_checkpoint, save_checkpoint, to_layout

TINY = {"embed_dims": 4, "depths": (1, 1), "num_heads": (1, 1), "out_indices": (0, 1)}
TINY |= {"strides": (4, 2), "window_size": 2}
HOOK = {"type": "swin_mm.AnyCheckpointHook"}


class Pictures(Dataset):
    """Two pictures."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return {"inputs": torch.full((3, 8, 8), float(index))}


class Detector(BaseModel):
    """A backbone and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = SwinTransformer(**TINY)
        self.head = nn.Linear(8, 2)

    def forward(self, inputs, mode="tensor"):
        out = self.head(self.backbone(torch.stack(inputs))[-1].mean((2, 3)))
        return {"loss": out.square().mean()} if mode == "loss" else [out]


class Nothing(BaseMetric):
    """A metric."""

    def process(self, data_batch, data_samples):
        self.results.append(0)

    def compute_metrics(self, results):
        return {"pictures": len(results)}


class Hostile:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self):
        return open, (self.marker, "w")


@pytest.fixture(autouse=True)
def loaders(monkeypatch):
    """MMEngine's loaders are as they were after each test."""
    monkeypatch.setattr(CheckpointLoader, "_schemes", copy.copy(CheckpointLoader._schemes))


def drawn(seed: int = 0) -> Detector:
    return randomise(Detector(), seed)


@pytest.fixture
def make_runner(tmp_path):
    """Return a function that builds a Runner of one iteration, or more."""

    def make(*hooks: dict, iters: int = 1, lr: float = 0.0, **options) -> Runner:
        loader = {"dataset": Pictures(), "num_workers": 0}
        loader["sampler"] = {"type": "DefaultSampler", "shuffle": False}
        return Runner(
            drawn(seed=1),
            work_dir=str(tmp_path / "work"),
            train_dataloader=loader,
            train_cfg={"by_epoch": False, "max_iters": iters, "val_interval": 1},
            optim_wrapper={"optimizer": {"type": "AdamW", "lr": lr, "weight_decay": 0.0}},
            test_dataloader=loader,
            test_cfg={},
            test_evaluator=Nothing(),
            default_hooks={
                "checkpoint": {"type": "CheckpointHook", "by_epoch": False, "interval": 2}
            },
            custom_hooks=list(hooks),
            default_scope="mmengine",
            experiment_name=f"run-{torch.randint(10**9, ()).item()}",
            randomness={"seed": 1},
            log_level="ERROR",
            **options,
        )

    return make


def assert_same(one: nn.Module, other: nn.Module) -> None:
    left, right = one.state_dict(), other.state_dict()
    assert left.keys() == right.keys()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


def as_file(model: nn.Module, form: str, path: Path) -> str:
    """Save a model's tensors as somebody else would."""
    state = model.state_dict()
    official = {name: value for name, value in state.items() if not name.startswith("backbone.")}
    for name, value in to_layout(model.backbone.state_dict(), "microsoft-dense").items():
        official[f"backbone.{name}"] = value
    contents = {
        "container.pth": {"model": state, "epoch": 3},
        "bare.pth": state,
        "wrapped.pth": {"model_ema": {f"module.{k}": v for k, v in state.items()}},
        "official.pth": {"meta": {}, "state_dict": official},
        "flat.safetensors": state,
        "official.safetensors": official,
        "arrays.pkl": official,
    }
    save_checkpoint(contents[form], path / form)
    return str(path / form)


def averaged_in(runner: Runner) -> nn.Module:
    (averaged,) = (hook.ema_model.module for hook in runner.hooks if hasattr(hook, "ema_model"))
    return averaged


FORMS = ["container.pth", "bare.pth", "wrapped.pth", "official.pth"]
FORMS += ["flat.safetensors", "official.safetensors", "arrays.pkl"]


@pytest.mark.parametrize("form", FORMS)
def test_load_from_takes_every_file_whole(make_runner, tmp_path, form):
    model = drawn()
    runner = make_runner(HOOK, load_from=as_file(model, form, tmp_path))
    runner.train()
    assert_same(runner.model, model)


@pytest.mark.parametrize("form", FORMS)
def test_averaged_weights_start_with_the_file_too(make_runner, tmp_path, form):
    model = drawn()
    ema = {"type": "EMAHook"}
    runner = make_runner(ema, HOOK, load_from=as_file(model, form, tmp_path))
    runner.train()
    assert_same(averaged_in(runner), model)


def test_a_backbone_alone_starts_a_training(make_runner, tmp_path):
    model = drawn()
    torch.save({"model": to_layout(model.backbone.state_dict(), "microsoft-dense")}, tmp_path / "a")
    runner = make_runner({"type": "EMAHook"}, HOOK, load_from=str(tmp_path / "a"))
    runner.train()
    assert_same(runner.model.backbone, model.backbone)
    assert_same(averaged_in(runner).backbone, model.backbone)
    assert_same(runner.model.head, drawn(seed=1).head)


@pytest.mark.parametrize("lacks", ["head.", "head.bias"])
def test_a_model_that_a_file_left_random_in_parts_is_not_tested(make_runner, tmp_path, lacks):
    state = {k: v for k, v in drawn().state_dict().items() if not k.startswith(lacks)}
    torch.save({"state_dict": state}, tmp_path / "parts.pth")
    with pytest.raises(CheckpointError, match=r"parameters of head, the first head\."):
        make_runner(HOOK, load_from=str(tmp_path / "parts.pth")).test()


def test_a_whole_model_is_tested(make_runner, tmp_path):
    runner = make_runner(HOOK, load_from=as_file(drawn(), "arrays.pkl", tmp_path))
    assert runner.test() == {"pictures": 2}


def test_averaged_weights_are_tested_as_the_file_has_them(make_runner, tmp_path):
    model = drawn()
    state = {f"detector.{name}": tensor for name, tensor in model.state_dict().items()}
    torch.save(state, tmp_path / "a.pth")
    runner = make_runner({"type": "EMAHook"}, HOOK, load_from=str(tmp_path / "a.pth"))
    runner.test()  # EMAHook puts the averaged weights into the model meanwhile
    assert_same(averaged_in(runner), model)


def test_a_model_that_was_trained_after_all_is_validated(make_runner, tmp_path):
    state = {k: v for k, v in drawn().state_dict().items() if not k.startswith("head.")}
    torch.save({"state_dict": state}, tmp_path / "parts.pth")
    more = {"val_cfg": {}, "val_evaluator": [Nothing()], "load_from": str(tmp_path / "parts.pth")}
    loader = {"dataset": Pictures(), "num_workers": 0}
    loader["sampler"] = {"type": "DefaultSampler", "shuffle": False}
    runner = make_runner(HOOK, val_dataloader=loader, **more)
    runner.train()
    assert runner.iter == 1


def test_a_file_with_nothing_for_the_model_is_refused(make_runner, tmp_path):
    torch.save({"state_dict": {"layer1.0.weight": torch.ones(1)}}, tmp_path / "other.pth")
    with pytest.raises(CheckpointError, match=r"must hold tensors of the model"):
        make_runner(HOOK, load_from=str(tmp_path / "other.pth")).train()


def test_a_resumed_run_is_the_uninterrupted_one_bit_by_bit(make_runner, tmp_path):
    ema = {"type": "EMAHook", "momentum": 0.3}
    make_runner(ema, HOOK, iters=4, lr=0.1).train()
    whole = read_checkpoint(tmp_path / "work/iter_4.pth")
    half = str(tmp_path / "work/iter_2.pth")
    (tmp_path / "work/iter_4.pth").unlink()
    make_runner(ema, HOOK, iters=4, lr=0.1, load_from=half, resume=True).train()
    again = read_checkpoint(tmp_path / "work/iter_4.pth")
    for key in ("state_dict", "ema_state_dict"):
        for name, tensor in whole[key].items():
            assert torch.equal(tensor, again[key][name]), name
    old, new = (each["optimizer"]["state"] for each in (whole, again))
    assert all(torch.equal(old[i]["exp_avg_sq"], new[i]["exp_avg_sq"]) for i in old)


def hostile_file(path: Path, ending: str, marker: Path) -> str:
    state = {"state_dict": drawn().state_dict(), "x": Hostile(marker)}
    if ending == ".pkl":
        path.with_suffix(ending).write_bytes(pickle.dumps(state))
    else:
        torch.save(state, path.with_suffix(ending))
    return str(path.with_suffix(ending))


@pytest.mark.parametrize("ending", [".pth", ".pkl"])
@pytest.mark.parametrize("what", ["load_from", "resume", "test"])
def test_hostile_code_does_not_run_where_the_hook_is(make_runner, tmp_path, ending, what):
    path = hostile_file(tmp_path / "evil", ending, tmp_path / "ran")
    runner = make_runner(HOOK, load_from=path, resume=what == "resume")
    with pytest.raises(CheckpointError, match="Nothing was run"):
        runner.test() if what == "test" else runner.train()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("ending", [".pth", ".pkl"])
def test_a_trusting_user_may_let_it_run(make_runner, tmp_path, ending):
    path = hostile_file(tmp_path / "evil", ending, tmp_path / "ran")
    make_runner({**HOOK, "unsafe": True}, load_from=path).test()
    assert (tmp_path / "ran").exists()
