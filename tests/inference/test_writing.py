import json

import cv2
import numpy as np
import pytest

from swin_mm.inference import InferenceError
from swin_mm.inference.writing import write, write_json, write_lines, write_png


def test_what_fails_half_way_leaves_the_older_file(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("older")

    def fail(part):
        with open(part, "w") as file:
            file.write("half")
        raise OSError("no space")

    with pytest.raises(InferenceError, match=r"file.txt cannot be written: no space"):
        write(str(path), fail)
    assert path.read_text() == "older"
    assert [left.name for left in tmp_path.iterdir()] == ["file.txt"]


def test_a_full_disk_is_not_silent():
    with pytest.raises(InferenceError, match="No space left on device"):
        write_png_beside("/dev/full")


def write_png_beside(place):
    """Write a small picture, whose bytes reach the disk as the file is closed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swin_mm.inference.writing.part_of", lambda path: place)
        patch.setattr("os.unlink", lambda path: None)
        write_png("picture.png", np.zeros((30, 20, 3), np.uint8))


def test_pictures_come_back_as_they_were(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    write_png(str(tmp_path / "new folder/colour.png"), noise)
    assert np.array_equal(cv2.imread(str(tmp_path / "new folder/colour.png"))[..., ::-1], noise)
    labels = np.array([[0, 65535]], np.uint16)
    write_png(str(tmp_path / "labels.png"), labels)
    assert np.array_equal(cv2.imread(str(tmp_path / "labels.png"), cv2.IMREAD_UNCHANGED), labels)


def test_lines_and_json_are_text(tmp_path):
    write_lines(str(tmp_path / "lines"), (str(number) for number in range(2)))
    assert (tmp_path / "lines").read_text() == "0\n1\n"
    write_json(str(tmp_path / "json"), {"a": [1]})
    assert json.loads((tmp_path / "json").read_text()) == {"a": [1]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["json", "lines"]
