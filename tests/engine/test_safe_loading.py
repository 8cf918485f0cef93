import copy
import pickle
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from families import MAINTAINED
from mmengine.logging import HistoryBuffer
from mmengine.model import BaseModel, BaseModule
from mmengine.runner import CheckpointLoader, Runner
from torch.utils.data import Dataset

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.engine import safe_loading
from swin_mm.engine.safe_loading import allow_safe_reading


class Numbers(Dataset):
    """Eight pictures of four numbers."""

    metainfo = {"classes": ("cat", "dog"), "palette": [(1, 2, 3), (4, 5, 6)]}

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((4,), float(index)), torch.tensor(0.5)


class Line(BaseModel):
    """One linear layer."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)

    def forward(self, x, y, mode="loss"):
        return {"loss": (self.linear(x)[:, 0] - y).square().mean()}


class Hostile:
    """Creates a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return open, (self.marker, "w")


@pytest.fixture(autouse=True)
def loaders(monkeypatch):
    """MMEngine's loaders are as they were after each test."""
    monkeypatch.setattr(CheckpointLoader, "_schemes", copy.copy(CheckpointLoader._schemes))


@pytest.fixture
def hostile(tmp_path):
    """A weight file that leaves a mark if its code runs, and the mark."""
    state = {"state_dict": Line().state_dict(), "meta": {}, "x": Hostile(tmp_path / "ran")}
    torch.save(state, tmp_path / "evil.pth")
    return str(tmp_path / "evil.pth"), tmp_path / "ran"


@pytest.fixture
def make_runner(tmp_path):
    """Return a function that builds a Runner of a few iterations."""

    def make(*, scheduler=None, epochs=1, **options):
        return Runner(
            Line(),
            work_dir=str(tmp_path / "work"),
            train_dataloader={
                "dataset": Numbers(),
                "batch_size": 2,
                "num_workers": 0,
                "sampler": {"type": "DefaultSampler", "shuffle": True},
                "collate_fn": {"type": "default_collate"},
            },
            train_cfg={"by_epoch": True, "max_epochs": epochs},
            optim_wrapper={"type": "OptimWrapper", "optimizer": {"type": "AdamW", "lr": 0.1}},
            param_scheduler=scheduler,
            custom_hooks=[{"type": "EMAHook"}],
            default_scope="mmengine",
            experiment_name=f"run-{torch.randint(10**9, ()).item()}",
            randomness={"seed": 1},
            log_level="ERROR",
            **options,
        )

    return make


SCHEDULERS = {
    "warmup": [
        {"type": "LinearLR", "start_factor": 0.1, "begin": 0, "end": 2, "by_epoch": False},
        {"type": "MultiStepLR", "milestones": [2, 3], "by_epoch": False},
    ],
    "poly": [{"type": "PolyLR", "power": 1.0, "end": 8, "by_epoch": False}],
    "cosine": [{"type": "CosineAnnealingLR", "T_max": 8, "by_epoch": False}],
    "one-cycle": [{"type": "OneCycleLR", "eta_max": 0.1, "total_steps": 8, "by_epoch": False}],
}


@pytest.mark.parametrize("scheduler", SCHEDULERS.values(), ids=SCHEDULERS)
def test_mmengines_own_checkpoint_is_read_whole(make_runner, tmp_path, scheduler):
    make_runner(scheduler=scheduler).train()
    path = tmp_path / "work" / "epoch_1.pth"
    safe, trusted = read_checkpoint(path), torch.load(path, weights_only=False)
    assert safe.keys() == trusted.keys()
    assert safe["param_schedulers"] == trusted["param_schedulers"]
    assert safe["meta"]["dataset_meta"] == Numbers.metainfo
    losses, wanted = (read["message_hub"]["log_scalars"]["train/loss"] for read in (safe, trusted))
    assert losses.mean() == wanted.mean()


def test_a_run_resumes_through_the_safe_reader(make_runner, tmp_path):
    allow_safe_reading()
    make_runner(scheduler=SCHEDULERS["warmup"]).train()
    runner = make_runner(scheduler=SCHEDULERS["warmup"], epochs=2, resume=True)
    runner.train()
    assert runner.iter == 8
    assert (tmp_path / "work" / "epoch_2.pth").exists()


def test_hostile_code_does_not_run_through_load_checkpoint(make_runner, hostile):
    allow_safe_reading()
    path, mark = hostile
    with pytest.raises(CheckpointError, match="Nothing was run"):
        make_runner().load_checkpoint(path)
    assert not mark.exists()


@pytest.mark.parametrize("resume", [True, False])
def test_hostile_code_does_not_run_through_training(make_runner, hostile, resume):
    allow_safe_reading()
    path, mark = hostile
    with pytest.raises(CheckpointError, match="Nothing was run"):
        make_runner(load_from=path, resume=resume).train()
    assert not mark.exists()


def test_hostile_code_does_not_run_through_init_cfg(hostile):
    allow_safe_reading()
    path, mark = hostile
    module = BaseModule(init_cfg={"type": "Pretrained", "checkpoint": path})
    with pytest.raises(CheckpointError, match="Nothing was run"):
        module.init_weights()
    assert not mark.exists()


@pytest.mark.skipif(not MAINTAINED, reason="torch 2.6 and later refuse in the original MMEngine")
def test_without_us_it_may_run(hostile):
    """The maintained fork runs it; if this turns red, MMEngine has become safe by itself."""
    path, mark = hostile
    CheckpointLoader.load_checkpoint(path)
    assert mark.exists()


@pytest.mark.skipif(MAINTAINED, reason="the maintained MMEngine reads its own checkpoints")
def test_without_us_the_original_mmengine_cannot_read_its_own_checkpoints(tmp_path):
    """If this turns red, it can, and docs/upstream.md says too much."""
    path = str(tmp_path / "own.pth")
    torch.save({"state_dict": {}, "message_hub": {"loss": HistoryBuffer([1.0], [1])}}, path)
    with pytest.raises(pickle.UnpicklingError):
        CheckpointLoader.load_checkpoint(path)
    allow_safe_reading()
    assert CheckpointLoader.load_checkpoint(path)["message_hub"]["loss"].mean() == 1.0


def test_a_trusting_user_may_let_it_run(hostile):
    allow_safe_reading()
    allow_safe_reading(unsafe=True)
    path, mark = hostile
    CheckpointLoader.load_checkpoint(path)
    assert mark.exists()


def test_calling_it_again_changes_nothing(hostile):
    allow_safe_reading(unsafe=True)
    for _ in range(2):
        allow_safe_reading()
    path, mark = hostile
    with pytest.raises(CheckpointError):
        CheckpointLoader.load_checkpoint(path)
    assert not mark.exists()


def test_every_scheme_of_mmengine_is_covered():
    theirs = dict(CheckpointLoader._schemes)
    allow_safe_reading()
    ours = CheckpointLoader._schemes
    assert theirs.keys() == ours.keys()
    assert [scheme for scheme in theirs if theirs[scheme] is ours[scheme]] == []


@pytest.mark.parametrize("scheme", ["openmmlab", "open-mmlab", "mmcls", "torchvision"])
def test_named_models_are_looked_up_and_read_safely(monkeypatch, hostile, scheme):
    path, mark = hostile
    monkeypatch.setattr("swin_mm.engine.safe_loading.download", lambda url: None)
    monkeypatch.setattr("swin_mm.checkpoints.read.download", lambda url: Path(path))
    known = {"net": "https://example.com/net.pth"}
    monkeypatch.setitem(safe_loading._NAMED_MODELS, scheme, lambda: known)
    allow_safe_reading()
    with pytest.raises(CheckpointError, match="Nothing was run"):
        CheckpointLoader.load_checkpoint(f"{scheme}://net")
    assert not mark.exists()
    with pytest.raises(CheckpointError, match="a name that MMEngine knows, got 'nett'"):
        CheckpointLoader.load_checkpoint(f"{scheme}://nett")


def test_a_named_model_may_be_a_file_in_mmengines_home(monkeypatch, tmp_path):
    monkeypatch.setenv("MMENGINE_HOME", str(tmp_path))
    monkeypatch.setitem(safe_loading._NAMED_MODELS, "openmmlab", lambda: {"mine": "mine.pth"})
    torch.save({"a": torch.ones(1)}, tmp_path / "mine.pth")
    allow_safe_reading()
    assert CheckpointLoader.load_checkpoint("openmmlab://mine")["state_dict"]["a"] == 1


def test_a_classifier_by_name_gives_its_backbone(monkeypatch, tmp_path):
    monkeypatch.setenv("MMENGINE_HOME", str(tmp_path))
    monkeypatch.setitem(safe_loading._NAMED_MODELS, "mmcls", lambda: {"mine": "mine.pth"})
    tensors = {"backbone.a": torch.ones(1), "head.b": torch.ones(1)}
    torch.save({"state_dict": tensors}, tmp_path / "mine.pth")
    allow_safe_reading()
    assert list(CheckpointLoader.load_checkpoint("mmcls://mine")["state_dict"]) == ["a"]


@pytest.mark.parametrize(("rank", "fetched"), [(0, ["download", "barrier"]), (1, ["barrier"])])
def test_one_process_of_a_machine_fetches_and_none_waits_for_ever(monkeypatch, rank, fetched):
    steps = []

    def fail(url):
        steps.append("download")
        raise CheckpointError("no network")

    monkeypatch.setattr(safe_loading, "get_local_rank", lambda: rank)
    monkeypatch.setattr(safe_loading, "barrier", lambda: steps.append("barrier"))
    monkeypatch.setattr(safe_loading, "download", fail)
    monkeypatch.setattr("swin_mm.checkpoints.read.download", fail)
    allow_safe_reading()
    with pytest.raises(CheckpointError, match="no network"):
        CheckpointLoader.load_checkpoint("https://example.com/net.pth")
    assert steps[: len(fetched)] == fetched


def test_an_object_store_is_read_safely(monkeypatch, hostile):
    path, mark = hostile
    monkeypatch.setattr(
        "swin_mm.engine.safe_loading.get_local_path", lambda *_, **__: nullcontext(path)
    )
    allow_safe_reading()
    with pytest.raises(CheckpointError, match="Nothing was run"):
        CheckpointLoader.load_checkpoint("cluster:s3://bucket/evil.pth")
    assert not mark.exists()


def test_a_store_that_cannot_be_read_safely_is_refused():
    allow_safe_reading()
    with pytest.raises(CheckpointError, match="cannot be read safely"):
        CheckpointLoader.load_checkpoint("pavi://model")
