import cv2
import numpy as np
import pytest

from swin_mm.inference import InferenceError, find_pictures

NOISE = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Two folders: `b.png A.jpg note.txt below/` and `1.jpg 01.jpg`, beside `1.png`."""
    for name in (
        "mixed/b.png",
        "mixed/A.jpg",
        "mixed/below/c.png",
        "digits/1.jpg",
        "digits/01.jpg",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), NOISE)
    (tmp_path / "mixed/note.txt").write_text("no picture")
    cv2.imwrite(str(tmp_path / "1.png"), NOISE)
    return tmp_path


def test_a_folder_stands_for_its_own_pictures_by_name(folder):
    found = find_pictures([f"{folder}/mixed"])
    assert [picture.path for picture in found] == [f"{folder}/mixed/A.jpg", f"{folder}/mixed/b.png"]
    assert [picture.image_id for picture in found] == ["A", "b"]


def test_pictures_of_one_name_or_number_stay_apart(folder):
    found = find_pictures([f"{folder}/1.png", f"{folder}/digits", f"{folder}/1.png"])
    names = [(picture.name, picture.image_id) for picture in found]
    assert names == [("1", 1), ("01", "01"), ("1_2", "1_2")]


def test_names_that_differ_in_case_only_stay_apart(folder):
    cv2.imwrite(f"{folder}/a.png", NOISE)
    names = [one.name for one in find_pictures([f"{folder}/mixed/A.jpg", f"{folder}/a.png"])]
    assert names == ["A", "a_2"]


def test_a_missing_picture_is_answered_with_the_near_one(folder):
    with pytest.raises(InferenceError, match=r"no picture .*bb\.png; did you mean .*/b\.png\?"):
        find_pictures([f"{folder}/mixed/bb.png"])
    with pytest.raises(InferenceError, match="no picture nowhere/at/all"):
        find_pictures(["nowhere/at/all"])


def test_a_folder_without_pictures_is_an_error(tmp_path):
    with pytest.raises(InferenceError, match="no picture lies in"):
        find_pictures([str(tmp_path)])


def test_patterns_stand_for_the_pictures_and_videos_that_fit(folder):
    (folder / "mixed/clip.MP4").write_bytes(b"")
    found = find_pictures([f"{folder}/**/*", f"{folder}/mixed/b.pn[g]"])
    names = [(one.name, one.is_video) for one in found]
    assert names == [("1", False), ("01", False), ("1_2", False), ("A", False), ("b", False),
                     ("c", False), ("clip", True)]  # fmt: skip


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder):
    cv2.imwrite(f"{folder}/[b].png", NOISE)
    assert [one.path for one in find_pictures([f"{folder}/[b].png"])] == [f"{folder}/[b].png"]


def test_a_pattern_that_nothing_fits_is_an_error(folder):
    with pytest.raises(InferenceError, match=r"no picture fits .*/\*\.txt"):
        find_pictures([f"{folder}/mixed/*.txt"])


def test_a_folder_stands_for_its_videos_too(tmp_path):
    (tmp_path / "clip.mov").write_bytes(b"")
    assert [one.is_video for one in find_pictures([str(tmp_path)])] == [True]
