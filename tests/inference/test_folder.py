import copy
import json
from dataclasses import replace

import cv2
import numpy as np
import pytest

from swin_mm.data import render_scene
from swin_mm.inference import InferenceError, Options, find_pictures, infer, require_room
from swin_mm.inference.looking import Job
from swin_mm.inference.record import Record
from swin_mm.inference.video import VideoReader, VideoWriter
from swin_mm.progress import Bars


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
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("[!.]*.*"))


def test_a_detector_writes_overlays_and_one_file_of_results(find, photos, tmp_path):
    outcome = infer(find, photos, out=str(tmp_path), options=Options(score_threshold=0.9))
    assert names(tmp_path) == [
        *("classes.json", "overlays/1.png", "overlays/3.png"),
        *("parts/1.jsonl", "parts/3.jsonl", "predictions.json", "run.json"),
    ]
    found = json.loads((tmp_path / "predictions.json").read_text())
    assert {entry["image_id"] for entry in found} == {1, 3}
    assert outcome.done == 2


def test_a_picture_that_cannot_be_read_is_named_and_skipped(find, photos, tmp_path, capsys):
    outcome = infer(find, photos, out=str(tmp_path))
    (reason,) = outcome.skipped
    assert reason.startswith(photos[1].path) and "is not a picture" in reason
    assert f"skipped {photos[1].path}" in capsys.readouterr().err


def test_a_name_in_brackets_is_told_as_it_is(find, tmp_path, capsys):
    (tmp_path / "a [bold] one.jpg").write_text("no picture")
    infer(find, find_pictures([str(tmp_path)]), out=str(tmp_path / "out"))
    assert "a [bold] one.jpg" in capsys.readouterr().err


def test_a_segmentor_writes_overlays_and_labels(label, photos, tmp_path):
    infer(label, photos, out=str(tmp_path))
    assert names(tmp_path) == [
        *("classes.json", "labels/1.png", "labels/3.png", "legend.png"),
        *("overlays/1.png", "overlays/3.png", "parts/1.jsonl", "parts/3.jsonl", "run.json"),
    ]
    labels = cv2.imread(str(tmp_path / "labels/3.png"), cv2.IMREAD_UNCHANGED)
    (scores,) = label.score([label.pack(label.read(photos[2].path))])
    assert np.array_equal(labels, label.decide(scores.rows(0, 48)))


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
    assert "run.json" in names(tmp_path) and "parts/1.jsonl" in names(tmp_path)


def test_older_results_of_nobody_known_are_replaced_on_request_only(tmp_path):
    (tmp_path / "predictions.json").write_text("[]")
    with pytest.raises(InferenceError, match=r"results lie in .* \(predictions.json\)"):
        require_room(str(tmp_path))
    require_room(str(tmp_path), force=True)
    (tmp_path / "run.json").write_text("{}")
    require_room(str(tmp_path))  # whose they are is looked at later


def test_a_folder_with_other_things_in_it_has_room(tmp_path):
    (tmp_path / "photo.jpg").write_text("")
    require_room(str(tmp_path))


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InferenceError, match="is a file"):
        require_room(str(tmp_path / "file"), force=True)


@pytest.fixture
def counted(find, monkeypatch):
    """The pictures that the detector reads."""
    read, paths = find.read, []

    def read_and_note(path):
        paths.append(path)
        return read(path)

    monkeypatch.setattr(find, "read", read_and_note)
    return paths


def test_a_second_run_looks_only_at_what_the_first_did_not(find, photos, tmp_path, counted):
    first = infer(find, photos[:1], out=str(tmp_path))
    entries = json.loads((tmp_path / "predictions.json").read_text())
    second = infer(find, photos, out=str(tmp_path))
    assert (first.before, second.before, second.done) == (0, 1, 2)
    assert counted == [photo.path for photo in photos]
    both = json.loads((tmp_path / "predictions.json").read_text())
    assert both[: len(entries)] == entries and {entry["image_id"] for entry in both} == {1, 3}
    assert len(second.skipped) == 1  # what could not be read is tried again


def test_a_run_that_asks_for_something_else_is_refused(find, photos, tmp_path):
    infer(find, photos[:1], out=str(tmp_path))
    options = Options(classes=("person",))
    with pytest.raises(InferenceError, match=r'classes \[\]; now classes \["person"\]'):
        infer(find, photos, out=str(tmp_path), options=options)
    with pytest.raises(InferenceError, match="pictures"):
        infer(find, photos, out=str(tmp_path), sources=["elsewhere"])
    infer(find, photos[:1], out=str(tmp_path), options=Options(batch_size=3))


def test_other_weights_are_told_apart(find, detector, photos, tmp_path):
    import torch

    infer(find, photos[:1], out=str(tmp_path))
    other = detector.predictor()
    with torch.no_grad():
        next(other.model.parameters()).add_(1)
    with pytest.raises(InferenceError, match="there weights"):
        infer(other, photos[:1], out=str(tmp_path))


def test_other_settings_of_the_model_are_told_apart(find, photos, tmp_path, monkeypatch):
    infer(find, photos[:1], out=str(tmp_path))
    cfg = copy.deepcopy(find.cfg)
    cfg.model.test_cfg.rcnn.score_thr = 0.9
    monkeypatch.setattr(find, "cfg", cfg)
    with pytest.raises(InferenceError, match="there settings"):
        infer(find, photos[:1], out=str(tmp_path))


def test_a_folder_of_another_form_is_not_continued(find, photos, tmp_path):
    infer(find, photos[:1], out=str(tmp_path))
    record = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**record, "form": 1}))
    with pytest.raises(InferenceError, match="there form 1; now form 2"):
        infer(find, photos[:1], out=str(tmp_path))


def test_other_names_of_the_classes_are_told_apart(find, photos, tmp_path, monkeypatch):
    infer(find, photos[:1], out=str(tmp_path))
    names = tuple(f"class {number}" for number in range(len(find.classes.names)))
    monkeypatch.setattr(find, "classes", replace(find.classes, names=names))
    with pytest.raises(InferenceError, match="there names"):
        infer(find, photos[:1], out=str(tmp_path))


def test_by_force_all_is_done_anew_and_nothing_old_is_left(find, photos, tmp_path, counted):
    infer(find, photos[2:], out=str(tmp_path))
    outcome = infer(find, photos[:1], out=str(tmp_path), force=True)
    assert outcome.before == 0 and len(counted) == 2
    assert "overlays/3.png" not in names(tmp_path)


def test_pictures_go_together_in_batches_and_a_large_one_alone(find, photos, tmp_path, monkeypatch):
    from swin_mm.inference import looking

    sizes, predict = [], looking.predict

    def note(predictor, pictures, options, **more):
        sizes.append(len(pictures))
        return predict(predictor, pictures, options, **more)

    monkeypatch.setattr(looking, "predict", note)
    twice = find_pictures([photos[0].path, photos[2].path])
    infer(find, twice, out=str(tmp_path / "a"), options=Options(batch_size=2))
    infer(find, twice, out=str(tmp_path / "b"), options=Options(batch_size=2, tile=32))
    assert sizes == [2, 1, 1]
    monkeypatch.setattr(looking, "LARGE", 64 * 48 - 1)  # px that are held at once
    infer(find, twice, out=str(tmp_path / "c"), options=Options(batch_size=3))
    assert sizes[3:] == [1, 1]


def test_pictures_before_a_video_are_not_kept_waiting_by_it(find, photos, clip, tmp_path):
    seen = []
    with Record(str(tmp_path), {}) as record, Bars("", 2) as bars:
        options = Options(batch_size=4).checked(find.classes, instances=True)
        job = Job(find, options, out=str(tmp_path), record=record, bars=bars)
        for picture, _ in job.look_at(find_pictures([photos[0].path, clip])):
            seen.append(picture.is_video)
    assert seen == [False, True]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    stem = str(tmp_path_factory.mktemp("videos") / "clip")
    with VideoWriter(stem, rate=10) as writer:
        for index in range(5):
            scene = render_scene(0, 0, size=(65, 48)).image
            writer.write(np.roll(scene, 3 * index, axis=1))
        writer.close()
    return writer.path


@pytest.mark.parametrize("size", [1, 2])
def test_a_video_becomes_a_video_and_its_instances_know_their_frame(find, clip, tmp_path, size):
    outcome = infer(
        find, find_pictures([clip]), out=str(tmp_path), options=Options(batch_size=size)
    )
    assert (outcome.done, outcome.skipped) == (1, ())
    drawn = VideoReader(str(tmp_path / "overlays/clip.mp4"))
    assert (len(list(drawn)), drawn.rate) == (5, 10)
    found = json.loads((tmp_path / "predictions.json").read_text())
    assert {entry["image_id"] for entry in found} == {f"clip/{n:06d}" for n in range(5)}
    assert {entry["file_name"] for entry in found} == {clip}
    assert infer(find, find_pictures([clip]), out=str(tmp_path)).before == 1


def test_the_frames_of_a_video_are_labelled_one_by_one(label, clip, tmp_path):
    infer(label, find_pictures([clip]), out=str(tmp_path))
    written = sorted(path.name for path in (tmp_path / "labels/clip").iterdir())
    assert written == [f"{number:06d}.png" for number in range(5)]
    (tmp_path / "labels/clip/000003.png").unlink()
    assert infer(label, find_pictures([clip]), out=str(tmp_path)).before == 0
    assert (tmp_path / "labels/clip/000003.png").exists()
    assert next(iter(VideoReader(str(tmp_path / "overlays/clip.mp4")))).shape == (48, 66, 3)


def test_of_a_video_that_breaks_off_what_came_before_is_kept_and_told(find, clip, tmp_path):
    out, half = tmp_path / "out", tmp_path / "half.avi"
    writer = cv2.VideoWriter(str(half), cv2.VideoWriter_fourcc(*"MJPG"), 25, (64, 48))
    for frame in VideoReader(clip):
        for _ in range(4):
            writer.write(np.ascontiguousarray(frame[:48, :64]))
    writer.release()
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    written = []
    for _ in range(2):
        outcome = infer(find, find_pictures([str(half)]), out=str(out))
        assert (outcome.done, outcome.before) == (0, 0)
        assert "half.avi breaks off after" in outcome.skipped[0]
        written.append((out / "overlays/half.mp4").stat().st_mtime_ns)
    assert written[0] == written[1]  # the second run has not looked at it again
    assert len(list(VideoReader(str(out / "overlays/half.mp4")))) > 3


def test_a_broken_video_is_named_and_skipped(find, photos, tmp_path):
    (tmp_path / "clip.mp4").write_bytes(b"no video")
    pictures = find_pictures([str(tmp_path / "clip.mp4"), photos[0].path])
    outcome = infer(find, pictures, out=str(tmp_path / "out"))
    assert outcome.done == 1 and "clip.mp4 is not a video" in outcome.skipped[0]
