import struct

import cv2
import numpy as np
import pytest
from PIL import Image

from swin_mm.inference import InferenceError, PictureError, find_pictures, read_picture

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


@pytest.mark.parametrize(
    "picture",
    [NOISE, NOISE[..., 0], NOISE.astype(np.uint16) * 257, np.dstack([NOISE, NOISE[..., :1]])],
    ids=["colour", "gray", "16 bits", "transparent"],
)
def test_whatever_a_picture_is_it_comes_as_8_bit_colour(tmp_path, picture):
    path = str(tmp_path / "picture.png")
    cv2.imwrite(path, picture)
    read = read_picture(path)
    expected = NOISE if picture.ndim == 3 else NOISE[..., :1].repeat(3, axis=2)
    assert read.dtype == np.uint8
    assert np.array_equal(read, expected)


def test_a_picture_is_turned_as_its_exif_says(tmp_path):
    path = tmp_path / "turned.jpg"
    image = Image.fromarray(NOISE)
    exif = image.getexif()
    exif[274] = 6  # orientation: to be turned to the right
    image.save(path, exif=exif)
    assert read_picture(str(path)).shape == (32, 24, 3)


@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_half_a_picture_is_refused(tmp_path, ending):
    content = cv2.imencode(f".{ending}", NOISE)[1].tobytes()
    path = tmp_path / f"half.{ending}"
    path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(PictureError, match="breaks off"):
        read_picture(str(path))


def test_the_end_of_a_thumbnail_is_not_taken_for_the_pictures(tmp_path):
    content = cv2.imencode(".jpg", NOISE)[1].tobytes()
    thumbnail = cv2.imencode(".jpg", NOISE[:8, :8])[1].tobytes()
    segment = b"\xff\xe1" + struct.pack(">H", len(thumbnail) + 2) + thumbnail
    path = tmp_path / "with thumbnail.jpg"
    path.write_bytes(content[:2] + segment + content[2:])
    assert read_picture(str(path)).shape == NOISE.shape
    path.write_bytes(content[:2] + segment + content[2:-40])
    with pytest.raises(PictureError, match="breaks off"):
        read_picture(str(path))


@pytest.mark.parametrize(("content", "reason"), [(b"", "is empty"), (b"hello", "not a picture")])
def test_what_is_no_picture_is_named(tmp_path, content, reason):
    path = tmp_path / "broken.jpg"
    path.write_bytes(content)
    with pytest.raises(PictureError, match=f"broken.jpg {reason}|broken.jpg is {reason}"):
        read_picture(str(path))


def test_a_picture_that_is_gone_is_named(tmp_path):
    with pytest.raises(PictureError, match=r"gone\.jpg cannot be read: No such file"):
        read_picture(str(tmp_path / "gone.jpg"))
