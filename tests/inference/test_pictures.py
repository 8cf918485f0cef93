import sys

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


@pytest.mark.parametrize("stem", ["{}", "same"])
def test_the_work_grows_as_the_number_of_pictures(tmp_path, stem):
    def calls(count):
        paths = [tmp_path / f"{count}/{number}" / f"{stem.format(number)}.png"
                 for number in range(count)]  # fmt: skip
        for path in paths:
            path.parent.mkdir(parents=True)
            path.touch()
        made = []
        sys.setprofile(lambda frame, event, _: made.append(event) if "call" in event else None)
        try:
            found = find_pictures([str(path) for path in paths], out=str(tmp_path / "found"))
        finally:
            sys.setprofile(None)
        assert len({one.name for one in found}) == len({one.image_id for one in found}) == count
        return len(made)

    assert calls(200) < 2.2 * calls(100)


def test_a_name_is_a_number_where_it_is_written_as_one(tmp_path):
    names = ["0", "00", "01", "1", "000000000001", "000000000002", "\u0663", "1_000"]
    for name in names:
        (tmp_path / f"{name}.png").touch()
    ids = {}
    for added in range(1, len(names) + 1):  # whichever are there, each keeps its own
        found = find_pictures([f"{tmp_path}/{name}.png" for name in names[:added]])
        assert len({one.image_id for one in found}) == added
        ids |= {one.name: one.image_id for one in found}
        assert [one.image_id for one in found] == [ids[name] for name in names[:added]]
    assert list(ids.values()) == [0, "00", "01", 1, "000000000001", 2, "\u0663", "1_000"]


@pytest.mark.parametrize("out", [".", "found", "../photos"])
def test_results_of_an_earlier_run_are_no_pictures_of_the_next(tmp_path, monkeypatch, out):
    photos = tmp_path / "photos"
    photos.mkdir()
    monkeypatch.chdir(photos)
    for name in ("a.png", f"{out}/overlays/a.png", f"{out}/labels/clip/000000.png",
                 f"{out}/legend.png", f"{out}/b.png"):  # fmt: skip
        path = photos / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [one.name for one in find_pictures(["**/*.png"], out=out)] == ["a", "b"]
    with pytest.raises(InferenceError, match=r"no picture fits .*: all 1 are results that lie in"):
        find_pictures([f"{out}/over*/*"], out=out)
    with pytest.raises(InferenceError, match=r"no picture lies in .*: all 1 are results"):
        find_pictures([f"{out}/overlays"], out=out)
    with pytest.raises(InferenceError, match=r"a\.png is a result that lies in --out"):
        find_pictures([f"{out}/overlays/a.png"], out=out)
    assert find_pictures([f"{out}/overlays/a.png"], out="elsewhere")[0].name == "a"


def test_a_very_long_name_leaves_room_for_endings_and_stays_its_own(tmp_path):
    for last in "ab":
        (tmp_path / f"{82 * '長'}{last}.jpg").write_bytes(b"")
    first, second = find_pictures([str(tmp_path)])
    assert first.name == 66 * "長" and second.name == f"{first.name}_2"
    (tmp_path / f"{second.name}.jsonl.part").write_bytes(b"")
