import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image

from swin_mm.visualization import DrawingError, Picture, read_picture


@pytest.fixture
def file(tmp_path):
    pixels = np.zeros((30, 40, 3), np.uint8)
    pixels[:, :20, 2] = 255  # red on the left, as OpenCV has it
    path = tmp_path / "red left.png"
    cv2.imwrite(str(path), pixels)
    return str(path)


def test_a_picture_is_read_as_it_is(file):
    picture = read_picture(file)
    assert picture.size == (30, 40)
    assert picture.pixels[0, 0].tolist() == [255, 0, 0]
    assert picture.shrunk == (1, 1)


@pytest.mark.parametrize(
    ("how", "size"),
    [
        ({"size": 80}, (60, 80)),
        ({"size": (10, 50)}, (50, 10)),
        ({"image_scale": 0.5}, (15, 20)),
    ],
)
def test_a_picture_is_brought_to_a_size(file, how, size):
    assert read_picture(file, **how).size == size


def test_the_long_side_of_a_large_picture_is_1333(tmp_path):
    path = tmp_path / "large.jpg"
    cv2.imwrite(str(path), np.zeros((100, 2666, 3), np.uint8))
    assert read_picture(str(path)).size == (50, 1333)
    assert read_picture(str(path), image_scale=1).size == (100, 2666)


@pytest.mark.parametrize("how", [{"size": 5000}, {"image_scale": 200.0}, {"size": (5, 4097)}])
def test_a_size_beyond_reason_is_refused(file, how):
    with pytest.raises(DrawingError, match="1 to 4096 px, this one would have"):
        read_picture(file, **how)


def test_a_place_is_scaled_with_the_picture():
    picture = Picture(np.zeros((30, 80, 3), np.uint8), (0.5, 2))
    assert picture.place((10, 50)) == (25, 20)
    assert picture.place((39, 59)) == (29, 78)
    assert picture.place(None) == (15, 40)


@pytest.mark.parametrize("token", [(40, 0), (0, 60), (-1, 0)])
def test_a_place_outside_is_refused(token):
    picture = Picture(np.zeros((30, 80, 3), np.uint8), (0.5, 2))
    with pytest.raises(DrawingError, match="X from 0 to 39, Y from 0 to 59 px, got"):
        picture.place(token)


@pytest.mark.parametrize("content", [b"", b"no picture"])
def test_what_is_no_picture_is_refused(tmp_path, content):
    path = tmp_path / "picture.jpg"
    path.write_bytes(content)
    with pytest.raises(DrawingError, match=f"OpenCV can read .{len(content)} bytes"):
        read_picture(str(path))
    with pytest.raises(DrawingError, match="there is no picture"):
        read_picture(str(tmp_path / "none.jpg"))


@pytest.mark.parametrize("ending", [".jpg", ".png"])
def test_half_a_picture_is_refused(tmp_path, ending):
    path = tmp_path / f"half{ending}"
    pixels = np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8)
    cv2.imwrite(str(path), pixels)
    assert read_picture(str(path)).size == (60, 80)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DrawingError, match=r"breaks off or is damaged|OpenCV can read"):
        read_picture(str(path))


def test_a_panorama_beyond_pillows_limit_is_read(file, monkeypatch, recwarn):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)  # an error from twice as many on
    assert read_picture(file).size == (30, 40)
    assert Image.MAX_IMAGE_PIXELS == 500 and not recwarn.list


def test_a_header_that_claims_more_than_opencv_reads_is_refused(tmp_path):
    def chunk(name, content):
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    path = tmp_path / "huge.png"
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", b"") + chunk(b"IEND", b""))
    with pytest.raises(DrawingError, match=r"huge.png has more pixels than OpenCV reads, 2\*\*30"):
        read_picture(str(path))


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_a_factor_is_a_number_above_0(file, factor):
    with pytest.raises(DrawingError, match="--image-scale must be a number above 0, got"):
        read_picture(file, image_scale=factor)
