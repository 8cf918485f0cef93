"""Which pictures are drawn, and where."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import cv2
import matplotlib
import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from swin_mm.engine.pictures import PredictionPictures


class Sample(SimpleNamespace):
    """What a host returns for a picture."""

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)

    def cpu(self) -> "Sample":
        """It is there."""
        return self


class Visualizer:
    """Writes the picture that it is given."""

    def __init__(self) -> None:
        self.asked: list[dict] = []

    def add_datasample(
        self, name: str, image: np.ndarray, *, out_file: str, **asked: object
    ) -> None:
        """Write, twice side by side where the truth is wanted, as the hosts do."""
        self.reads_formulas = matplotlib.rcParams["text.parse_math"]
        cv2.imwrite(out_file, np.hstack([image, image]) if asked["draw_gt"] else image)
        self.asked.append(asked)


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "a.jpg"
    cv2.imwrite(str(path), np.zeros((8, 8, 3), np.uint8))
    return str(path)


@pytest.fixture
def namesake(picture: str, tmp_path: Path) -> str:
    """Another picture of the same name."""
    (tmp_path / "elsewhere").mkdir()
    return shutil.copy(picture, tmp_path / "elsewhere/a.jpg")


def run(hook: PredictionPictures, pictures: int, sample: Sample) -> list[int]:
    """Validate, and say at which pictures something was drawn."""
    runner = SimpleNamespace(val_dataloader=range(pictures), visualizer=Visualizer())
    hook.before_val_epoch(runner)
    drawn = []
    for number in range(pictures):
        before = len(hook.paths)
        hook.after_val_iter(runner, number, outputs=[sample])
        drawn += [number] * (len(hook.paths) - before)
    return drawn


def test_the_pictures_of_a_validation_are_spread_over_the_set(picture: str, tmp_path: Path) -> None:
    hook = PredictionPictures(str(tmp_path / "new folder"), count=3)
    assert run(hook, 101, Sample(img_path=picture)) == [0, 50, 100]
    assert run(hook, 2, Sample(img_path=picture)) == [0, 1]


def test_pictures_of_one_name_do_not_overwrite_each_other(
    picture: str, namesake: str, tmp_path: Path
) -> None:
    hook = PredictionPictures(str(tmp_path))
    runner = SimpleNamespace(visualizer=Visualizer())
    hook.after_test_iter(runner, 0, outputs=[Sample(img_path=path) for path in (picture, namesake)])
    hook.after_test_iter(runner, 1, outputs=[Sample(img_path=picture)])  # a sampler's filling
    assert [Path(path).name for path in hook.paths] == ["a.png", "a_1.png"]
    assert all(Path(path).is_file() for path in hook.paths)


def test_truth_is_drawn_where_there_is_one(picture: str, namesake: str, tmp_path: Path) -> None:
    hook = PredictionPictures(str(tmp_path), score_threshold=0.4)
    runner = SimpleNamespace(visualizer=Visualizer())
    known = Sample(img_path=picture, gt_instances=[], pred_instances=[])
    hook.after_test_iter(runner, 0, outputs=[known, Sample(img_path=namesake)])
    truth = [asked["draw_gt"] for asked in runner.visualizer.asked]
    assert truth == [True, False]
    assert runner.visualizer.asked[0]["pred_score_thr"] == 0.4
    assert not runner.visualizer.reads_formulas  # a class named "$a$" would be one
    assert matplotlib.rcParams["text.parse_math"]


def test_the_scores_of_every_pixel_are_not_sent_to_the_process_that_draws(
    picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    monkeypatch.setattr("swin_mm.engine.pictures.gather_object", sent.extend)
    sample = SegDataSample(metainfo={"img_path": picture})
    sample.pred_sem_seg = sample.seg_logits = PixelData(data=torch.zeros(1, 8, 8))
    PredictionPictures(str(tmp_path)).after_test_iter(SimpleNamespace(), 0, outputs=[sample])
    assert list(sent[0].keys()) == ["pred_sem_seg"]
    assert "seg_logits" in sample  # metrics may want them


@pytest.mark.parametrize("width", [96, 1200])
def test_truth_and_prediction_bear_their_names(width: int, tmp_path: Path) -> None:
    path = str(tmp_path / "a.png")
    cv2.imwrite(path, np.zeros((60, width, 3), np.uint8))
    hook = PredictionPictures(str(tmp_path / "drawn"))
    sample = Sample(img_path=path, gt_instances=[], pred_instances=[])
    hook.after_test_iter(SimpleNamespace(visualizer=Visualizer()), 0, outputs=[sample])
    drawn = cv2.imread(hook.paths[0])
    strip, below = drawn[:-60], drawn[-60:]
    assert drawn.shape[1] == 2 * width and not below.any()
    for half in (strip[:, :width], strip[:, width:]):
        assert half.min() < 100 and half[:, -2:].min() == 255  # a word, and whole
        assert half[:1].min() == half[-1:].min() == 255
    assert not np.array_equal(strip[:, :width], strip[:, width:])
