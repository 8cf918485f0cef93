import weakref

import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope

import swin_mm.engine  # noqa: F401, registers the model of test-time augmentation
from swin_mm.inference import InferenceError, Options, PictureError, Predictor

SIZES = [(1, 1), (9, 70), (120, 95)]  # height and width, px


def noise(height, width, channels=3):
    return np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)


@pytest.fixture(scope="module")
def find(detector):
    return detector.predictor()


@pytest.fixture(scope="module")
def label(segmentor):
    return segmentor.predictor()


def found_in(predictor, *pictures):
    return [one.pred_instances for one in predictor.find([predictor.pack(p) for p in pictures])]


@pytest.mark.parametrize("size", SIZES)
def test_instances_are_told_in_the_pictures_own_pixels(find, size):
    (found,) = found_in(find, noise(*size))
    assert len(found) > 0
    assert found.masks.shape[1:] == size
    assert found.bboxes[:, 2:].amax(0).le(torch.tensor(size[::-1])).all()


@pytest.mark.parametrize("size", SIZES)
def test_every_pixel_of_the_picture_is_scored(label, size):
    (scores,) = label.score([label.pack(noise(*size))])
    rows = scores.rows(0, size[0])
    assert rows.shape == (150, *size)
    assert label.decide(rows).shape == size


def test_a_detector_finds_what_mmdetections_own_function_finds(find, tmp_path):
    from mmdet.apis import inference_detector

    init_default_scope("mmdet")
    path = str(tmp_path / "picture.png")
    cv2.imwrite(path, noise(60, 80))
    find.model.cfg = find.cfg
    theirs = inference_detector(find.model, path).pred_instances
    (ours,) = found_in(find, find.read(path))
    assert torch.equal(ours.bboxes, theirs.bboxes)
    assert torch.equal(ours.labels, theirs.labels)
    assert np.array_equal(ours.masks, theirs.masks)


@pytest.mark.parametrize("mode", ["whole", "slide"])
def test_a_segmentor_labels_as_mmsegmentations_own_function_does(
    label, tmp_path, monkeypatch, mode
):
    from mmseg.apis import inference_model

    path = str(tmp_path / "picture.png")
    cv2.imwrite(path, noise(60, 80))
    init_default_scope("mmseg")
    slide = {"mode": "slide", "crop_size": (40, 40), "stride": (30, 30)}
    modes = Config({"whole": {"mode": "whole"}, "slide": slide})
    monkeypatch.setattr(label.model, "test_cfg", modes[mode])
    pipeline = {"test_pipeline": label.cfg.test_dataloader.dataset.pipeline}
    monkeypatch.setattr(label.model, "cfg", Config(pipeline), raising=False)
    theirs = inference_model(label.model, path)
    (scores,) = label.score([label.pack(label.read(path))])
    torch.testing.assert_close(scores.rows(0, 60), theirs.seg_logits.data, rtol=1e-4, atol=1e-4)
    ours = label.decide(scores.rows(0, 60))
    assert (ours == theirs.pred_sem_seg.data[0].numpy()).mean() > 0.999


def test_a_segmentor_that_resizes_in_its_own_way_is_asked_for_its_result(label, monkeypatch):
    from mmseg.models import EncoderDecoder

    class Other(EncoderDecoder):
        def postprocess_result(self, logits, samples=None):
            return super().postprocess_result(-logits, samples)

    packed = label.pack(noise(20, 30))
    (ordinary,) = label.score([packed])
    monkeypatch.setattr(label.model, "__class__", Other)
    (other,) = label.score([packed])
    assert other.views[0].shape == (150, 20, 30)
    torch.testing.assert_close(other.rows(0, 20), -ordinary.rows(0, 20))


def test_padding_is_taken_back(segmentor):
    options = {"model.data_preprocessor.test_cfg": {"size_divisor": 64}}
    padded = segmentor._replace(options={**segmentor.options, **options}).predictor()
    (scores,) = padded.score([padded.pack(noise(60, 70))])
    assert scores.views[0].shape[1:] == (72, 84)  # not 128 x 128


def test_one_score_decides_by_its_threshold(label, monkeypatch):
    monkeypatch.setattr(label.model.decode_head, "threshold", 0.6, raising=False)
    logits = torch.tensor([[[-9.0, 0.1, 9.0]]])
    assert label.decide(logits).tolist() == [[0, 0, 1]]
    monkeypatch.setattr(label, "tta", True)  # averaged probabilities
    assert label.decide(torch.tensor([[[0.5, 0.7]]])).tolist() == [[0, 1]]


def test_a_batch_changes_nothing(find, label):
    pictures = [noise(60, 80), noise(60, 80)[::-1].copy()]
    singly = [found_in(find, picture)[0] for picture in pictures]
    for one, other in zip(found_in(find, *pictures), singly, strict=True):
        torch.testing.assert_close(one.bboxes, other.bboxes, rtol=1e-4, atol=1e-3)
        assert torch.equal(one.labels, other.labels)
    both = label.score([label.pack(picture) for picture in pictures])
    for scores, picture in zip(both, pictures, strict=True):
        (one,) = label.score([label.pack(picture)])
        torch.testing.assert_close(scores.views[0], one.views[0], rtol=1e-4, atol=1e-5)


def augmented(trained):
    predictor = trained.predictor()
    cfg = trained.cfg()
    for resize in cfg.tta_pipeline[1].transforms[0]:
        resize.scale = (resize.scale[0] // 16, resize.scale[1] // 16)
    return Predictor(cfg, predictor.model, {}, tta=True)


def test_scales_and_flips_of_instances_are_merged_with_their_masks(detector, find):
    predictor = augmented(detector)
    packed = predictor.pack(noise(60, 80))
    assert len(packed.inputs) == 6
    found, again = (one.pred_instances for one in predictor.find([packed, packed]))
    assert found.masks.shape[1:] == (60, 80) and len(found)
    torch.testing.assert_close(found.bboxes, again.bboxes, rtol=1e-4, atol=1e-3)
    (plain,) = found_in(find, noise(60, 80))
    assert found.bboxes.shape != plain.bboxes.shape or not torch.equal(found.bboxes, plain.bboxes)


def test_scales_and_flips_of_pixels_are_averaged_as_mmsegmentation_does(segmentor):
    from mmseg.models import SegTTAModel

    predictor = augmented(segmentor)
    packed = predictor.pack(noise(60, 80))
    (scores,) = predictor.score([packed])
    theirs = SegTTAModel(predictor.model)
    batch = {"inputs": [[one] for one in packed.inputs],
             "data_samples": [[one] for one in packed.samples]}  # fmt: skip
    with torch.no_grad():
        labels = theirs.test_step(batch)[0].pred_sem_seg.data.squeeze()
    assert len(packed.inputs) == 12
    ours = predictor.decide(scores.rows(0, 60))
    assert (ours == labels.numpy()).mean() > 0.999


def test_half_precision_changes_little_and_something(segmentor, label):
    predictor = Predictor(segmentor.cfg(), segmentor.predictor().model, {}, amp=True)
    halved, whole = (one.score([one.pack(noise(60, 80))])[0].views[0] for one in (predictor, label))
    assert halved.dtype == torch.float32
    assert 0 < (halved - whole).abs().max() < 0.1 * whole.abs().max()


def test_a_compiled_backbone_predicts_the_same(segmentor, label, monkeypatch):
    compiled = []

    def compile_nothing(function, **settings):
        compiled.append(settings)
        return function

    monkeypatch.setattr(torch, "compile", compile_nothing)
    options = Options(compile=True)
    predictor = Predictor.load(
        segmentor.cfg(), str(segmentor.checkpoint), device="cpu", options=options
    )
    ours, plain = (one.score([one.pack(noise(30, 40))])[0].views[0] for one in (predictor, label))
    assert compiled and torch.equal(ours, plain)


def test_a_compiler_that_fails_is_told_with_a_way_out(label, monkeypatch):
    failure = type("InvalidCxxCompiler", (RuntimeError,), {"__module__": "torch._inductor.exc"})

    def fail(*_):
        raise failure("No working C++ compiler found\nmore")

    monkeypatch.setattr(label.model, "inference", fail)
    with pytest.raises(InferenceError, match=r"No working C\+\+ compiler found\. .*--compile"):
        label.score([label.pack(noise(6, 8))])


def test_a_detector_is_at_home_wherever_a_segmentor_was_loaded_before(detector):
    cfg = detector.cfg()
    init_default_scope("mmseg")
    predictor = Predictor.load(cfg, str(detector.checkpoint), device="cpu")
    assert len(found_in(predictor, noise(30, 40))[0]) > 0


def test_a_picture_that_the_pipeline_cannot_take_is_named_by_its_size(find):
    with pytest.raises(PictureError, match="cannot take 9000x1 px: OpenCV's resize"):
        find.pack(noise(1, 9000))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
    ],
)
def test_a_picture_too_large_for_memory_is_an_error_of_that_picture(find, monkeypatch, error):
    def give_up(_):
        raise error

    monkeypatch.setattr(find.model, "test_step", give_up)
    with pytest.raises(PictureError, match=r"8x6 px do not fit into memory; .*--tile"):
        find.find([find.pack(noise(6, 8))])


def test_what_filled_the_memory_is_let_go_for_the_next_picture(find, monkeypatch):
    filled = []

    def fill(_):
        large = torch.zeros(9)
        filled.append(weakref.ref(large))
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(find.model, "test_step", fill)
    with pytest.raises(PictureError) as told:
        find.find([find.pack(noise(6, 8))])
    assert isinstance(told.value.__cause__, torch.OutOfMemoryError)
    assert filled[0]() is None


@pytest.mark.parametrize(
    "what", ["shapes differ", "CUDA error: an illegal memory access was encountered"]
)
def test_any_other_failure_of_the_model_is_not_hidden(find, monkeypatch, what):
    def fail(_):
        raise RuntimeError(what)

    monkeypatch.setattr(find.model, "test_step", fail)
    with pytest.raises(RuntimeError, match=what):
        find.find([find.pack(noise(6, 8))])


def test_pictures_are_read_as_the_config_says(segmentor, label, tmp_path):
    cfg = segmentor.cfg()
    cfg.test_dataloader.dataset.pipeline[0]["color_type"] = "grayscale"
    path = str(tmp_path / "picture.png")
    cv2.imwrite(path, noise(6, 8))
    assert Predictor(cfg, label.model, {}).read(path).shape[:2] == (6, 8)
    assert Predictor(cfg, label.model, {}).read(path).ndim == 2
