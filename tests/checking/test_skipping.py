"""Broken pictures are skipped in training only, counted and named; a lost disk stops it."""

import gc
import json
import os
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from mmengine.config import Config
from mmengine.model import BaseModel
from mmengine.registry import DATASETS
from mmengine.runner import Runner

from swin_mm.checking import DataError, SkipBroken, skip_broken, skipping
from swin_mm.checking.skipping import SkipReportHook

DETECTOR, SEGMENTOR = "mask_rcnn_swin_t.py", "upernet_swin_t.py"
LOAD = {"type": "LoadImageFromFile"}


class Nothing(BaseModel):
    """Learns one number, whatever it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.number = torch.nn.Parameter(torch.zeros(()))

    def forward(self, inputs, data_samples=None, mode="tensor"):
        return {"loss": self.number**2} if mode == "loss" else data_samples


@pytest.fixture(autouse=True)
def without_survey_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run starts compilers to ask for their versions, which takes seconds."""
    monkeypatch.setattr(Runner, "_log_env", lambda *_: None)


@pytest.fixture
def scenes(tiny_scenes: Path, tmp_path: Path) -> Path:
    """Scenes of which two pictures of six are broken, and their label pictures are not."""
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    for folder in ("train2017", "ADEChallengeData2016/images/training"):
        first, second, *_ = sorted((tmp_path / "scenes" / folder).iterdir())
        first.write_bytes(b"")
        second.write_bytes(second.read_bytes()[:-200])
    return tmp_path / "scenes"


def runner_of(cfg, work_dir, loop, *, workers=0):
    pipeline = cfg.train_dataloader.dataset.pipeline
    cfg.train_dataloader.dataset.pipeline = [pipeline[0], pipeline[-1]]  # load and pack
    cfg.train_dataloader.num_workers = workers
    cfg.train_dataloader.persistent_workers = workers > 0
    return Runner(
        Nothing(),
        str(work_dir),
        train_dataloader=cfg.train_dataloader,
        train_cfg=loop,
        optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.1}},
        custom_hooks=cfg.custom_hooks,
        default_hooks={"logger": {"type": "LoggerHook", "interval": 100}, "checkpoint": None},
        randomness={"seed": 0},
        default_scope=cfg.default_scope,
        experiment_name=f"skipping{id(work_dir)}",
    )


def log_of(runner) -> str:
    return "".join(path.read_text() for path in Path(runner.log_dir).glob("*.log"))


@pytest.mark.parametrize(("name", "workers"), [(DETECTOR, 0), (SEGMENTOR, 2)])
def test_a_training_leaves_out_what_is_broken_and_names_it(
    scenes, config, tmp_path, name, workers, own_mmengine
):
    cfg = config(name, scenes)
    assert skip_broken(cfg) == 1
    cfg.train_dataloader.sampler = {"type": "DefaultSampler", "shuffle": False}
    loop = {"type": "EpochBasedTrainLoop", "max_epochs": 2}
    runner = runner_of(cfg, tmp_path / "work", loop, workers=workers)
    runner.train()
    told = json.loads((tmp_path / "work/skipped_pictures.json").read_text())
    whys = sorted(entry["why"] for entry in told.values())
    assert whys[0] == "0 bytes" and whys[1].startswith("it breaks off after")
    assert all(entry["times"] >= 2 for entry in told.values())  # in both epochs
    log = log_of(runner)
    assert log.count("2 broken pictures, ") == 2
    assert all(path in log for path in told)
    assert "2 broken pictures were left out" in log


def test_a_training_by_iterations_tells_at_its_end(scenes, config, tmp_path, own_mmengine):
    cfg = config(DETECTOR, scenes)
    skip_broken(cfg)
    cfg.train_dataloader.sampler = {"type": "InfiniteSampler", "shuffle": False}
    cfg.train_dataloader.batch_sampler = None
    loop = {"type": "IterBasedTrainLoop", "max_iters": 6}
    runner = runner_of(cfg, tmp_path / "work", loop, workers=1)
    runner.train()
    assert log_of(runner).count("2 broken pictures, ") == 1


def test_a_whole_set_loses_nothing_and_says_so(tiny_scenes, config, tmp_path, own_mmengine):
    cfg = config(DETECTOR, tiny_scenes)
    skip_broken(cfg)
    loop = {"type": "EpochBasedTrainLoop", "max_epochs": 1}
    runner = runner_of(cfg, tmp_path / "work", loop)
    runner.train()
    assert "No picture was left out as broken." in log_of(runner)
    assert not (tmp_path / "work/skipped_pictures.json").exists()


def test_what_a_validation_meets_is_told_before_it():
    told = []

    class Hook(SkipReportHook):
        def _report(self, runner):
            told.append(runner.iter)

    for iteration in (0, 5):  # a test alone has no training before it
        Hook().before_val(type("Runner", (), {"iter": iteration}))
    assert told == [5]


def test_only_the_loading_steps_of_trainings_are_wrapped(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes)
    before = [step["type"] for step in cfg.train_dataloader.dataset.pipeline]
    skip_broken(cfg)
    skip_broken(cfg)  # what is wrapped stays as it is
    skip, *rest = cfg.train_dataloader.dataset.pipeline
    assert [step["type"] for step in skip["transforms"]] == before[:2]
    assert [step["type"] for step in rest] == before[2:]
    assert cfg.val_dataloader.dataset.pipeline[0].type == "LoadImageFromFile"
    assert [hook["type"] for hook in cfg.custom_hooks] == ["swin_mm.SkipReportHook"]


def test_a_step_that_is_named_by_its_class_is_known_too():
    from mmcv.transforms import LoadImageFromFile

    steps = [{"type": LoadImageFromFile}, {"type": "PackDetInputs"}]
    cfg = Config({"train_dataloader": {"dataset": {"type": "CocoDataset", "pipeline": steps}}})
    assert skip_broken(cfg) == 1
    skip, *rest = cfg.train_dataloader.dataset.pipeline
    assert [step["type"] for step in skip["transforms"]] == [LoadImageFromFile] and len(rest) == 1


def test_where_nothing_is_loaded_nothing_is_added():
    cfg = Config({"train_dataloader": {"dataset": {"type": "CocoDataset", "pipeline": []}}})
    assert skip_broken(cfg) == 0 and "custom_hooks" not in cfg


def test_inside_wrappers_too(scenes, config):
    cfg = config(DETECTOR, scenes)
    cfg.train_dataloader.dataset = {
        "type": "RepeatDataset",
        "times": 2,
        "dataset": {"type": "ConcatDataset", "datasets": [cfg.train_dataloader.dataset] * 2},
    }
    assert skip_broken(cfg) == 1  # one dict, named twice
    with DATASETS.switch_scope_and_registry("mmdet") as registry:
        dataset = registry.build(cfg.train_dataloader.dataset)
    from swin_mm.checking.skipping import _skippers

    assert len({step.journal for step in _skippers(dataset)}) == 2
    assert all(dataset[place] is not None for place in range(12))


def test_a_test_is_not_told_that_a_broken_picture_is_sound(scenes, config, monkeypatch):
    told = []
    monkeypatch.setattr(skipping, "print_log", lambda line, *_: told.append(line))
    cfg = config(DETECTOR, scenes)
    skip_broken(cfg)
    node = {**cfg.train_dataloader.dataset, "test_mode": True}
    with DATASETS.switch_scope_and_registry("mmdet") as registry:
        dataset = registry.build(node)
    with pytest.raises(Exception, match="None"):
        dataset[0]
    assert "000000000001.jpg: 0 bytes" in told[0]


def step_of(**options):
    from mmengine.registry import DefaultScope

    with DefaultScope.overwrite_default_scope("mmdet"):
        import mmdet.datasets.transforms  # noqa: F401

        return SkipBroken([LOAD], **options)


def test_a_label_picture_that_breaks_off_is_left_out(tmp_path, tiny_scenes):
    path = next((tiny_scenes / "ADEChallengeData2016/annotations/training").iterdir())
    label = path.read_bytes()
    for content, left_out in ((label, False), (label + bytes(500), False), (label[:-20], True)):
        (tmp_path / "label.png").write_bytes(content)
        read = SkipBroken([])({"seg_map_path": str(tmp_path / "label.png")})
        assert (read is None) is left_out


def test_a_step_that_gives_nothing_is_a_failure_like_others():
    step = step_of()
    step.transforms = [lambda results: None]
    assert step({"img_path": "a.jpg"}) is None
    assert json.loads(Path(step.journal).read_text())["why"] == "function gives nothing"


def test_any_error_of_a_loader_is_told_in_a_line_that_ends():
    def fail(results):
        raise ValueError("no\n  header " + "z" * 500)

    step = step_of()
    step.transforms = [fail]
    assert step({"img_path": "a.jpg"}) is None
    why = json.loads(Path(step.journal).read_text())["why"]
    assert why.startswith("ValueError: no header zzz") and len(why) == 300


def test_a_picture_is_told_of_once_and_counted_each_time(monkeypatch):
    told = []
    monkeypatch.setattr(skipping, "print_log", lambda line, *_: told.append(line))
    step = step_of()
    for _ in range(3):
        step({"img_path": "gone.jpg"})
    assert len(told) == 1
    assert len(Path(step.journal).read_text().splitlines()) == 3


def test_many_failures_in_a_row_are_a_lost_disk(tmp_path):
    step = step_of(in_a_row=3)
    gone = {"img_path": str(tmp_path / "gone.jpg")}
    assert step(dict(gone)) is None and step(dict(gone)) is None
    with pytest.raises(DataError, match=r"3 pictures in a row .*gone\.jpg.*Is the disk there"):
        step(dict(gone))


def test_a_sound_picture_ends_the_row(tmp_path, tiny_scenes):
    step = step_of(in_a_row=2)
    sound = str(next((tiny_scenes / "train2017").iterdir()))
    for _ in range(3):
        assert step({"img_path": str(tmp_path / "gone.jpg")}) is None
        assert step({"img_path": sound})["img"].shape == (72, 96, 3)


def test_what_follows_the_end_of_a_picture_breaks_nothing(tmp_path, tiny_scenes):
    content = next((tiny_scenes / "train2017").iterdir()).read_bytes()
    (tmp_path / "padded.jpg").write_bytes(content + bytes(500))
    read = step_of()({"img_path": str(tmp_path / "padded.jpg")})
    assert read["img"].shape == (72, 96, 3)


def test_a_copy_in_a_worker_writes_to_the_same_journal_and_removes_none():
    step = step_of()
    copy = pickle.loads(pickle.dumps(step))
    assert copy({"img_path": "gone.jpg"}) is None
    assert json.loads(Path(step.journal).read_text())["file"] == "gone.jpg"
    del copy
    if not (child := os.fork()):
        del step
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    journal = step.journal
    assert os.path.exists(journal)
    del step
    gc.collect()
    assert not os.path.exists(journal)


def test_half_a_line_is_read_when_it_is_whole():
    step, hook = step_of(), SkipReportHook()
    whole = json.dumps({"file": "a.jpg", "why": "0 bytes"})
    Path(step.journal).write_text(f"{whole}\n{whole[:9]}")
    assert len(hook._new(step)) == 1
    with open(step.journal, "a") as journal:
        journal.write(f"{whole[9:]}\n")
    assert len(hook._new(step)) == 1
    assert hook._new(step) == []


@pytest.mark.parametrize("first", [True, False])
def test_the_first_process_tells_what_all_of_them_left_out(tmp_path, monkeypatch, first):
    step, said = step_of(), []
    assert step({"img_path": "mine.jpg"}) is None
    theirs = [{"file": f"{number}.jpg", "why": "0 bytes"} for number in range(11)]
    monkeypatch.setattr(skipping.dist, "all_gather_object", lambda mine: [mine, theirs])
    monkeypatch.setattr(skipping.dist, "is_main_process", lambda: first)
    dataset = SimpleNamespace(pipeline=SimpleNamespace(transforms=[step]))
    loader, logger = SimpleNamespace(dataset=dataset), SimpleNamespace(warning=said.append)
    SkipReportHook()._report(
        SimpleNamespace(train_dataloader=loader, logger=logger, work_dir=str(tmp_path), iter=5)
    )
    assert bool(said) is (tmp_path / "skipped_pictures.json").exists() is first
    if first:
        assert "iteration 5: 12 broken pictures, 12 times: mine.jpg (" in said[0]
        assert said[0].count(".jpg (") == 10 and "; and 2 more. All so far" in said[0]
        assert len(json.loads((tmp_path / "skipped_pictures.json").read_text())) == 12
