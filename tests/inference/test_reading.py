import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

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


def test_what_follows_the_end_of_a_jpeg_does_not_matter(tmp_path):
    content = cv2.imencode(".jpg", NOISE)[1].tobytes()
    path = tmp_path / "moving.jpg"
    path.write_bytes(content + b"ftyp a video \xff\xda of a phone, no end")
    assert read_picture(str(path)).shape == NOISE.shape


@pytest.mark.parametrize("keep", [1, 0.9, 0.6, 0.3])
def test_a_picture_in_many_scans_is_whole_with_its_last(tmp_path, keep):
    path = tmp_path / "progressive.jpg"
    restarts = [cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_RST_INTERVAL, 1]
    content = cv2.imencode(".jpg", NOISE, restarts)[1].tobytes()
    assert content.count(b"\xff\xda") > 3 and b"\xff\xd0" in content
    path.write_bytes(content[: int(len(content) * keep)])
    if keep == 1:
        assert read_picture(str(path)).shape == NOISE.shape
    else:
        with pytest.raises(PictureError, match="breaks off"):
            read_picture(str(path))


def test_the_name_of_a_png_chunk_within_another_is_no_end(tmp_path):
    path = tmp_path / "half.png"
    Image.fromarray(NOISE).save(path, pnginfo=_text("IEND"))
    content = path.read_bytes()
    path.write_bytes(content + b"and more")
    assert read_picture(str(path)).shape == NOISE.shape
    path.write_bytes(content[:-100])
    with pytest.raises(PictureError, match="breaks off"):
        read_picture(str(path))


def _text(text):
    info = PngInfo()
    info.add_text("Comment", text)
    return info


@pytest.mark.parametrize("shape", [(24, 32), (24, 32, 3)], ids=["gray", "colour"])
@pytest.mark.parametrize("ending", ["tif", "pfm"])
def test_floating_point_numbers_are_refused(tmp_path, shape, ending):
    path = str(tmp_path / f"floats.{ending}")
    cv2.imwrite(path, np.full(shape, 128, np.float32))  # white, if OpenCV had its way
    with pytest.raises(PictureError, match=rf"floats\.{ending} holds floating-point .* 8 or 16"):
        read_picture(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_whole_numbers_of_a_tiff_are_read(tmp_path, order, depth):
    path = tmp_path / "whole.tif"
    gray = NOISE[..., 0].astype(depth) * (257 if depth is np.uint16 else 1)
    kind = "L" if depth is np.uint8 else "I;16" + ("B" if order == ">" else "")
    data = gray.astype(np.dtype(depth).newbyteorder(order)).tobytes()
    Image.frombytes(kind, (32, 24), data).save(path)
    assert np.array_equal(read_picture(str(path)), NOISE[..., :1].repeat(3, axis=2))


@pytest.mark.filterwarnings("error")
def test_a_broken_head_of_a_tiff_is_the_decoders_to_refuse(tmp_path):
    path = tmp_path / "broken.tif"
    for content in (b"II*\0", b"II*\0\xff\xff\0\0", b"II+\0" + bytes(12)):
        path.write_bytes(content)
        with pytest.raises(PictureError, match="not a picture that can be read"):
            read_picture(str(path))
