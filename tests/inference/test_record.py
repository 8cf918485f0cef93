import json
import os

import pytest
import torch
from torch import nn

from swin_mm.inference import InferenceError
from swin_mm.inference.pictures import Picture
from swin_mm.inference.record import Record, fingerprint, fingerprint_of_text, require_room

ASKED = {"weights": "abc", "tile": None}


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "1.jpg"
    path.write_bytes(b"picture")
    return Picture(str(path), "1", 1)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def note(out, photo, *, entries=({"score": 1},), files=()):
    with Record(str(out), ASKED) as record:
        record.add(photo, entries, files=files)


def known(out, photo, asked=None, **more):
    with Record(str(out), asked or ASKED, **more) as record:
        return record.done(photo)


def test_what_is_done_is_known_to_the_next_run(out, photo):
    assert known(out, photo) is None
    note(out, photo)
    assert known(out, photo)["path"] == photo.path


def test_a_picture_that_has_changed_is_not_done(out, photo, tmp_path):
    note(out, photo)
    before = os.stat(photo.path)
    os.utime(photo.path, (1, 1))
    assert known(out, photo) is None
    (tmp_path / "1.jpg").write_bytes(b"another picture")
    os.utime(photo.path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a copy keeps it
    assert known(out, photo) is None


def test_another_picture_of_that_name_is_not_done(out, photo, tmp_path):
    note(out, photo)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/1.jpg").write_bytes(b"picture")
    assert known(out, Picture(str(tmp_path / "other/1.jpg"), "1", 1)) is None


def test_a_picture_whose_results_were_deleted_is_not_done(out, photo):
    out.mkdir()
    (out / "1.png").write_text("")
    note(out, photo, files=["1.png"])
    assert known(out, photo)
    (out / "1.png").unlink()
    assert known(out, photo) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_part_that_cannot_be_read_is_not_done(out, photo, content):
    note(out, photo)
    (out / "parts/1.jsonl").write_text(content)
    assert known(out, photo) is None


def test_a_run_that_asks_for_something_else_is_refused_with_the_difference(out, photo):
    note(out, photo)
    message = r"another run: there tile none; now tile 512\. Name another folder, or --force"
    with pytest.raises(InferenceError, match=message):
        known(out, photo, {"weights": "abc", "tile": 512})


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_record_that_cannot_be_read_is_another_runs(out, photo, content):
    note(out, photo)
    (out / "run.json").write_text(content)
    with pytest.raises(InferenceError, match="there weights none, tile none; now weights"):
        known(out, photo, {"weights": "abc", "tile": 512})


def test_a_run_that_is_refused_keeps_nobody_out(out, photo):
    note(out, photo)
    refused = Record(str(out), {"weights": "others"})
    with pytest.raises(InferenceError, match="another run"):
        refused.__enter__()
    assert known(out, photo)


def test_by_force_it_begins_anew(out, photo):
    note(out, photo)
    asked = {"weights": "abc", "tile": 512}
    assert known(out, photo, asked, force=True) is None
    assert json.loads((out / "run.json").read_text()) == asked


def test_two_processes_do_not_write_into_one_folder(out, photo):
    with Record(str(out), ASKED), pytest.raises(InferenceError, match="another process"):
        known(out, photo)
    assert known(out, photo) is None


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InferenceError, match="cannot be made"):
        Record(str(tmp_path / "file/below"), ASKED).__enter__()


def test_the_instances_of_all_that_is_done_are_one_list(out, photo, tmp_path):
    other = Picture(str(tmp_path / "2.jpg"), "2", 2)
    (tmp_path / "2.jpg").write_bytes(b"picture")
    path = tmp_path / "all.json"
    with Record(str(out), ASKED) as record:
        record.gather([photo, other], str(path))
        assert json.loads(path.read_text()) == []
        record.add(other, [{"id": 3, "score": 0.3}], files=[])
        record.add(photo, [{"id": 1, "score": 0.31}, {"id": 2, "score": 0.1}], files=[])
        assert record.gather([photo, other], str(path), surer_than=0.3) == (3, 1)
    assert [entry["id"] for entry in json.loads(path.read_text())] == [1, 2, 3]


def test_by_force_what_was_noted_is_removed_and_nothing_else(out, photo):
    (out / "overlays").mkdir(parents=True)
    (out / "labels/drive").mkdir(parents=True)
    (out / "labels/kept").mkdir()
    for name in ("overlays/1.png", "overlays/mine.png", "labels/mine.txt", "labels/kept/mine.txt",
                 "labels/drive/000000.png", "labels/drive/000001.png",
                 "labels/kept/000000.png"):  # fmt: skip
        (out / name).write_text("")
    frames = {"labels/drive": 2, "labels/kept": 1}
    with Record(str(out), ASKED) as record:
        record.add(photo, [], files=["overlays/1.png", "overlays/gone.png"], frames=frames)
    assert known(out, photo, force=True) is None
    left = {str(path.relative_to(out)) for path in out.rglob("*") if not path.is_dir()}
    assert left == {"run.json", "parts/.lock", "overlays/mine.png", "labels/mine.txt",
                    "labels/kept/mine.txt"}  # fmt: skip
    assert not (out / "labels/drive").exists()


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_by_force_a_part_that_cannot_be_read_is_removed_too(out, photo, content):
    note(out, photo)
    (out / "parts/1.jsonl").write_text(content)
    known(out, photo, force=True)
    assert [path.name for path in (out / "parts").iterdir()] == [".lock"]


def test_a_video_one_of_whose_labels_was_deleted_is_not_done(out, photo):
    (out / "labels/drive").mkdir(parents=True)
    for number in range(3):
        (out / f"labels/drive/{number:06d}.png").write_text("")
    with Record(str(out), ASKED) as record:
        record.add(photo, [], files=[], frames={"labels/drive": 3})
    assert known(out, photo)
    (out / "labels/drive/000001.png").unlink()
    assert known(out, photo) is None


def test_a_picture_whose_number_has_changed_is_not_done(out, photo):
    note(out, photo)
    assert known(out, Picture(photo.path, "1", "1")) is None


def test_a_folder_that_a_start_left_without_its_record_has_room(out):
    (out / "parts").mkdir(parents=True)
    (out / "parts/.lock").write_text("")
    (out / "overlays").mkdir()
    require_room(str(out), ["parts", "overlays"])
    (out / "parts/1.jsonl").write_text("")
    with pytest.raises(InferenceError, match=r"\(parts\), without the run.json"):
        require_room(str(out), ["parts", "overlays"])


def test_weights_are_told_from_others():
    one, other = nn.BatchNorm2d(3).bfloat16(), nn.BatchNorm2d(3).bfloat16()
    assert fingerprint(one) == fingerprint(other)
    with torch.no_grad():
        other.bias[1] = 1
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(nn.ModuleDict({"a": one})) != fingerprint(nn.ModuleDict({"b": one}))
    assert fingerprint_of_text("a") != fingerprint_of_text("b")
