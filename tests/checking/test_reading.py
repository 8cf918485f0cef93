"""Files that are not there, empty, cut or boastful are told apart, and no picture is refused."""

import io
import struct
import warnings

import numpy as np
import pytest
from mmengine import fileio
from PIL import Image

from swin_mm.checking.reading import (
    BrokenFile,
    absent_files,
    lies_on_disk,
    open_header,
    read_bytes,
    require_whole,
)


def encoded(kind="JPEG", side=64, **options):
    rng = np.random.default_rng(0)
    content = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (side, side, 3), dtype=np.uint8)).save(
        content, kind, **options
    )
    return content.getvalue()


def rule_of(content, backend="cv2"):
    with pytest.raises(BrokenFile) as broken:
        require_whole(content, open_header(content, backend))
    return broken.value.rule


def test_a_missing_an_empty_and_a_locked_file_differ(tmp_path):
    (tmp_path / "empty.jpg").touch()
    for name, rule in (
        ("none.jpg", "file-missing"),
        ("empty.jpg", "file-empty"),
        ("", "file-unreadable"),
    ):
        with pytest.raises(BrokenFile) as broken:
            read_bytes(str(tmp_path / name))
        assert broken.value.rule == rule


def test_files_elsewhere_are_read_by_the_configs_storage(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"content")
    assert read_bytes(str(tmp_path / "a"), {"backend": "local"}) == b"content"
    assert lies_on_disk("data/coco", None)
    assert not lies_on_disk("s3://bucket/coco", None)
    assert not lies_on_disk("data/coco", {"backend": "local"})
    monkeypatch.setattr(fileio, "get", lambda *path, **storage: repr((path, storage)).encode())
    asked = read_bytes("s3://bucket/a", {"backend": "petrel"}).decode()
    assert asked == "(('s3://bucket/a',), {'backend_args': {'backend': 'petrel'}})"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "BMP"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_a_file_that_breaks_off_is_never_whole(kind, share):
    content = encoded(kind)
    require_whole(content, open_header(content, "cv2"))
    assert rule_of(content[: int(len(content) * share)]) in ("file-truncated", "file-unreadable")


@pytest.mark.parametrize("options", [{"progressive": True}, {"quality": 100, "subsampling": 0}])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_jpeg_that_breaks_off_is_called_that(options, share):
    content = encoded(side=200, **options)
    require_whole(content, open_header(content, "cv2"))
    assert rule_of(content[: int(len(content) * share)]) == "file-truncated"


def test_a_png_without_its_end_is_not_whole():
    content = encoded("PNG")
    assert rule_of(content[: content.rindex(b"IEND") - 4]) == "file-truncated"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP"])
def test_what_follows_the_end_of_a_picture_breaks_nothing(kind):
    content = encoded(kind) + bytes(500)
    require_whole(content, open_header(content, "cv2"))


@pytest.mark.parametrize(
    ("error", "rule"), [(MemoryError(), "file-too-large"), (EOFError(), "file-truncated")]
)
def test_a_decoder_that_ends_without_a_word_is_understood(error, rule, monkeypatch):
    def fail(_):
        raise error

    content = encoded("BMP")
    image = open_header(content, "cv2")
    monkeypatch.setattr(type(image), "load", fail)
    with pytest.raises(BrokenFile) as broken:
        require_whole(content, image)
    assert broken.value.rule == rule


def test_what_a_decoder_warns_of_is_no_fault():
    odd = b"\xff\xe2\x00\x12MPF\0" + b"no index at"  # where cameras list more pictures
    content = encoded("JPEG")
    content = content[:2] + odd + bytes(16 + 2 + 2 - len(odd)) + content[2:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_whole(content, open_header(content, "cv2"))


def test_a_jpeg_of_four_inks_is_read_to_its_end_too():
    content = io.BytesIO()
    Image.new("CMYK", (64, 64)).save(content, "JPEG")
    require_whole(content.getvalue(), open_header(content.getvalue(), "cv2"))
    assert rule_of(content.getvalue()[:-30]) == "file-truncated"


def test_a_flipped_bit_of_a_png_is_seen():
    content = bytearray(encoded("PNG"))
    content[len(content) // 2] ^= 1
    assert rule_of(bytes(content)) == "file-unreadable"


def test_a_wrong_checksum_of_a_png_is_seen():
    content = bytearray(encoded("PNG"))
    start = content.index(b"IDAT")
    (length,) = struct.unpack(">I", content[start - 4 : start])
    content[start + 4 + length] ^= 1  # the pixels are whole, and OpenCV reads none of them
    assert rule_of(bytes(content)) == "file-unreadable"


@pytest.mark.parametrize("make", ["claiming_png", "claiming_jpeg"])
@pytest.mark.parametrize("side", [20000, 60000])
def test_a_header_that_claims_too_much_is_not_believed(faulty_data, make, side):
    assert rule_of(getattr(faulty_data, make)(side, side)) == "file-too-large"


def test_three_channels_take_three_times_the_bytes_of_one(faulty_data):
    held = len(faulty_data.claiming_png(9, 9)) * 1032  # px of one channel, at most
    for share, whole in ((0.3, True), (0.5, False)):
        content = faulty_data.claiming_png(int(held * share), 1)
        if whole:
            open_header(content, "cv2")
        else:
            with pytest.raises(BrokenFile, match="bytes can hold"):
                open_header(content, "cv2")


def test_the_backend_bounds_a_picture(faulty_data, monkeypatch):
    content = faulty_data.claiming_png(15000, 15000)
    with pytest.raises(BrokenFile, match="178956970 px that pillow reads"):
        open_header(content, "pillow")
    with pytest.raises(BrokenFile, match="bytes can hold"):
        open_header(content, "cv2")
    monkeypatch.setenv("OPENCV_IO_MAX_IMAGE_PIXELS", "1000000")
    with pytest.raises(BrokenFile, match="1000000 px that cv2 reads"):
        open_header(content, "cv2")


def test_the_emptiest_pictures_hold_what_they_claim():
    for kind, options in (
        ("PNG", {"compress_level": 9}),
        ("JPEG", {"quality": 1, "optimize": True}),
        ("JPEG", {"quality": 1, "progressive": True}),
    ):
        content = io.BytesIO()
        Image.new("L", (4000, 4000)).save(content, kind, **options)
        require_whole(content.getvalue(), open_header(content.getvalue(), "cv2"))


def test_pillows_own_bound_is_left_as_it_was(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 12345)
    require_whole(encoded(), open_header(encoded(), "cv2"))
    assert Image.MAX_IMAGE_PIXELS == 12345


def test_absent_files_are_found_by_listing(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/1.jpg").touch()
    paths = [str(tmp_path / name) for name in ("a/1.jpg", "a/2.jpg", "b/1.jpg")]
    assert absent_files(paths) == paths[1:]


@pytest.mark.parametrize("there", ["Pru\u0308fung.jpg", "PR\u00dcFUNG.JPG"])
def test_a_file_of_nearly_the_name_is_told_letter_by_letter(there, tmp_path):
    (tmp_path / there).touch()
    with pytest.raises(BrokenFile) as told:
        read_bytes(str(tmp_path / "Pr\u00fcfung.jpg"))
    assert told.value.met == f"there is no such file; the folder has one named {there!a}"
