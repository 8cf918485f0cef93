import json

import cv2
import numpy as np
import pytest

from swin_mm.data import render_scene
from swin_mm.inference import InferenceError, find_pictures, infer, require_room


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two pictures, and one between them that is none."""
    folder = tmp_path_factory.mktemp("my photos")
    for name, index in (("1", 0), ("3", 1)):
        cv2.imwrite(str(folder / f"{name}.jpg"), render_scene(0, index, size=(64, 48)).image)
    (folder / "2.jpg").write_text("no picture")
    return find_pictures([str(folder)])


@pytest.fixture(scope="module")
def find(detector):
    return detector.predictor()


@pytest.fixture(scope="module")
def label(segmentor):
    return segmentor.predictor()


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))


def test_a_detector_writes_overlays_and_one_file_of_results(find, photos, tmp_path):
    outcome = infer(find, photos, out=str(tmp_path), score_threshold=0.9)
    written = ["classes.json", "overlays/1.png", "overlays/3.png", "predictions.json"]
    assert names(tmp_path) == written
    found = json.loads((tmp_path / "predictions.json").read_text())
    assert {entry["image_id"] for entry in found} == {1, 3}
    assert outcome.done == 2


def test_a_picture_that_cannot_be_read_is_named_and_skipped(find, photos, tmp_path, capsys):
    outcome = infer(find, photos, out=str(tmp_path))
    (reason,) = outcome.skipped
    assert reason.startswith(photos[1].path) and "is not a picture" in reason
    assert f"skipped {photos[1].path}" in capsys.readouterr().err


def test_a_segmentor_writes_overlays_and_labels(label, photos, tmp_path):
    infer(label, photos, out=str(tmp_path))
    overlays = ["overlays/1.png", "overlays/3.png"]
    assert names(tmp_path) == ["classes.json", "labels/1.png", "labels/3.png", *overlays]
    labels = cv2.imread(str(tmp_path / "labels/3.png"), cv2.IMREAD_UNCHANGED)
    expected = label(label.read(photos[2].path)).pred_sem_seg.data[0]
    assert np.array_equal(labels, expected)


def test_the_classes_are_written_with_numbers_names_and_colours(label, photos, tmp_path):
    infer(label, photos[:1], out=str(tmp_path))
    classes = json.loads((tmp_path / "classes.json").read_text())
    assert classes[0] == {"id": 0, "name": "wall", "color": [120, 120, 120]}
    assert len(classes) == 150


def test_what_was_found_before_an_interruption_is_kept(find, photos, tmp_path, monkeypatch):
    read = find.read

    def read_first(path):
        if path != photos[0].path:
            raise KeyboardInterrupt
        return read(path)

    monkeypatch.setattr(find, "read", read_first)
    with pytest.raises(KeyboardInterrupt):
        infer(find, photos, out=str(tmp_path))
    found = json.loads((tmp_path / "predictions.json").read_text())
    assert {entry["image_id"] for entry in found} == {1}


def test_older_results_are_replaced_on_request_only(tmp_path):
    (tmp_path / "predictions.json").write_text("[]")
    with pytest.raises(InferenceError, match=r"results lie in .* \(predictions.json\)"):
        require_room(str(tmp_path))
    require_room(str(tmp_path), force=True)


def test_a_folder_with_other_things_in_it_has_room(tmp_path):
    (tmp_path / "photo.jpg").write_text("")
    require_room(str(tmp_path))


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InferenceError, match="is a file"):
        require_room(str(tmp_path / "file"), force=True)
    with pytest.raises(InferenceError, match="cannot be made"):
        infer_nothing(tmp_path / "file/below")


def infer_nothing(out):
    class Nobody:
        cfg, classes, finds_instances = None, None, True

    from swin_mm.inference import folder

    real, folder.Overlay = folder.Overlay, lambda *_, **__: None
    try:
        infer(Nobody(), [], out=str(out))
    finally:
        folder.Overlay = real


@pytest.mark.parametrize("threshold", [-0.1, 1.5])
def test_a_threshold_lies_between_0_and_1(find, photos, tmp_path, threshold):
    with pytest.raises(InferenceError, match="between 0 and 1"):
        infer(find, photos, out=str(tmp_path / "out"), score_threshold=threshold)
    assert not (tmp_path / "out").exists()


def test_a_threshold_means_nothing_to_a_segmentor(label, photos, tmp_path):
    with pytest.raises(InferenceError, match="labels every pixel"):
        infer(label, photos, out=str(tmp_path), score_threshold=0.5)
