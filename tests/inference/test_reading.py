import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image

from swin_mm.inference import PictureError, read_picture

NOISE = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)


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


def test_colours_for_printing_become_colours_for_screens(tmp_path):
    path = tmp_path / "cmyk.jpg"
    Image.new("CMYK", (32, 24), (0, 255, 255, 0)).save(path)  # magenta and yellow make red
    blue, green, red = read_picture(str(path))[12, 16].astype(int)
    assert red > 200 and green < 60 and blue < 60


def test_a_picture_past_opencvs_bound_is_told_with_the_variable_that_lifts_it(tmp_path):
    content = bytearray(cv2.imencode(".png", NOISE)[1].tobytes())
    content[16:24] = struct.pack(">II", 40_000, 40_000)  # as its header has it
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    path = tmp_path / "huge.png"
    path.write_bytes(content)
    with pytest.raises(PictureError, match=r"huge\.png is larger .* OPENCV_IO_MAX_IMAGE_PIXELS"):
        read_picture(str(path))


@pytest.mark.parametrize("error", [MemoryError(), cv2.error("Insufficient memory")])
def test_a_picture_that_does_not_fit_into_memory_is_named(tmp_path, monkeypatch, error):
    import mmcv

    def give_up(*_, **__):
        raise error

    cv2.imwrite(str(tmp_path / "large.png"), NOISE)
    monkeypatch.setattr(mmcv, "imfrombytes", give_up)
    with pytest.raises(PictureError, match=r"large\.png does not fit into memory"):
        read_picture(str(tmp_path / "large.png"))
