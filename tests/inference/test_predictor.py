import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope

from swin_mm.inference import InferenceError, PictureError, Predictor

SIZES = [(1, 1), (9, 70), (120, 95)]  # height and width, px


def noise(height, width, channels=3):
    return np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)


@pytest.fixture(scope="module")
def find(detector):
    return detector.predictor()


@pytest.fixture(scope="module")
def label(segmentor):
    return segmentor.predictor()


@pytest.mark.parametrize("size", SIZES)
def test_instances_are_told_in_the_pictures_own_pixels(find, size):
    found = find(noise(*size)).pred_instances
    assert len(found) > 0
    assert found.masks.shape[1:] == size
    assert found.bboxes[:, 2:].amax(0).le(torch.tensor(size[::-1])).all()


@pytest.mark.parametrize("size", SIZES)
def test_every_pixel_of_the_picture_is_labelled(label, size):
    assert label(noise(*size)).pred_sem_seg.data.shape == (1, *size)


def test_a_detector_finds_what_mmdetections_own_function_finds(find, tmp_path):
    from mmdet.apis import inference_detector

    init_default_scope("mmdet")
    path = str(tmp_path / "picture.png")
    cv2.imwrite(path, noise(60, 80))
    find.model.cfg = find.cfg
    theirs = inference_detector(find.model, path).pred_instances
    ours = find(find.read(path)).pred_instances
    assert torch.equal(ours.bboxes, theirs.bboxes)
    assert torch.equal(ours.labels, theirs.labels)
    assert np.array_equal(ours.masks, theirs.masks)


def test_a_segmentor_labels_as_mmsegmentations_own_function_does(label, tmp_path):
    from mmseg.apis import inference_model

    path = str(tmp_path / "picture.png")
    cv2.imwrite(path, noise(60, 80))
    init_default_scope("mmseg")
    label.model.cfg = Config({"test_pipeline": label.cfg.test_dataloader.dataset.pipeline})
    theirs = inference_model(label.model, path).seg_logits.data
    assert torch.equal(label(label.read(path)).seg_logits.data, theirs)


def test_a_detector_is_at_home_wherever_a_segmentor_was_loaded_before(detector):
    cfg = detector.cfg()
    init_default_scope("mmseg")
    predictor = Predictor.load(cfg, str(detector.checkpoint), device="cpu")
    assert len(predictor(noise(30, 40)).pred_instances) > 0


def test_a_picture_that_the_pipeline_cannot_take_is_named_by_its_size(find):
    with pytest.raises(PictureError, match="cannot take 9000x1 px: OpenCV's resize"):
        find(noise(1, 9000))


def test_a_picture_too_large_for_memory_is_an_error_of_that_picture(find, monkeypatch):
    def give_up(_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(find.model, "test_step", give_up)
    with pytest.raises(PictureError, match="8x6 px do not fit into memory"):
        find(noise(6, 8))


def test_any_other_failure_of_the_model_is_not_hidden(find, monkeypatch):
    def fail(_):
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(find.model, "test_step", fail)
    with pytest.raises(RuntimeError, match="shapes differ"):
        find(noise(6, 8))


def test_pictures_are_read_as_the_config_says(segmentor, label, tmp_path):
    cfg = segmentor.cfg()
    cfg.test_dataloader.dataset.pipeline[0]["color_type"] = "grayscale"
    path = str(tmp_path / "picture.png")
    cv2.imwrite(path, noise(6, 8))
    assert Predictor(cfg, label.model, {}).read(path).shape[:2] == (6, 8)
    assert Predictor(cfg, label.model, {}).read(path).ndim == 2


def test_a_pipeline_that_reads_otherwise_is_refused(segmentor, label):
    cfg = segmentor.cfg()
    cfg.test_dataloader.dataset.pipeline[0]["type"] = "LoadFromTape"
    with pytest.raises(InferenceError, match=r"must begin with LoadImageFromFile, .* LoadFromTape"):
        Predictor(cfg, label.model, {})
