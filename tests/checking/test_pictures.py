"""A picture is seen as the loader reads it, and what the loader reads wrongly is an error."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from swin_mm.checking import pictures
from swin_mm.checking.pictures import look_at
from swin_mm.checking.reading import BrokenFile
from swin_mm.checking.sources import Reader

RGB = np.stack(np.meshgrid(np.arange(64) * 3, np.arange(48) * 5), axis=-1).astype(np.uint8)
RGB = Image.fromarray(np.concatenate([RGB, RGB[..., :1] // 2 + 90], axis=-1))
DEEP_GRAY = Image.fromarray(np.asarray(RGB.convert("L")).astype(np.uint16) * 257)


def saved(folder, image, kind, **options):
    path = folder / f"picture.{kind.lower()}"
    image.save(path, kind, **options)
    return str(path)


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return {"exif": exif}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "WEBP"])
def test_plain_pictures_are_seen_without_a_note(tmp_path, kind):
    seen = look_at(saved(tmp_path, RGB, kind), Reader())
    assert (seen.size, seen.orientation, seen.notes) == ((64, 48), 1, ())


@pytest.mark.parametrize(
    ("mode", "kind", "rules"),
    [
        ("L", "JPEG", ["picture-gray"]),
        ("1", "PNG", ["picture-gray"]),
        ("LA", "PNG", ["picture-gray", "picture-alpha"]),
        ("RGBA", "PNG", ["picture-alpha"]),
        ("CMYK", "JPEG", ["picture-cmyk"]),
        ("P", "PNG", []),
    ],
)
@pytest.mark.parametrize("backend", ["cv2", "pillow"])
def test_other_modes_are_noted_and_read_rightly(tmp_path, mode, kind, rules, backend):
    seen = look_at(saved(tmp_path, RGB.convert(mode), kind), Reader(backend=backend))
    assert [rule for rule, _ in seen.notes] == rules
    assert seen.size == (64, 48)


def test_sixteen_bits_are_noted_where_they_are_read_rightly(tmp_path):
    seen = look_at(saved(tmp_path, DEEP_GRAY, "PNG"), Reader())
    assert seen.notes == (("picture-deep", "16 bits a channel"),)
    deep = np.asarray(RGB)[..., ::-1].astype(np.uint16) * 257
    for ending in (".png", ".tiff"):
        (tmp_path / f"deep{ending}").write_bytes(cv2.imencode(ending, deep)[1].tobytes())
        seen = look_at(str(tmp_path / f"deep{ending}"), Reader())
        assert [rule for rule, _ in seen.notes] == ["picture-deep"]


def test_sixteen_bits_that_pillow_cuts_off_are_an_error(tmp_path):
    with pytest.raises(BrokenFile, match="of 255 off") as broken:
        look_at(saved(tmp_path, DEEP_GRAY, "PNG"), Reader(backend="pillow"))
    assert broken.value.rule == "picture-colours"


@pytest.mark.parametrize(
    ("colour", "channels", "mode", "fits"),
    [
        ("unchanged", 3, "RGB", True),
        ("unchanged", 3, "L", False),
        ("unchanged", 4, "RGBA", True),
        ("unchanged", 3, "RGBA", False),
        ("grayscale", 1, "RGB", True),
        ("grayscale", 3, "RGB", False),
        ("color", 3, "RGBA", True),
    ],
)
def test_the_network_takes_as_many_channels_as_are_read(tmp_path, colour, channels, mode, fits):
    path = saved(tmp_path, RGB.convert(mode), "PNG")
    reader = Reader(colour=colour, channels=channels)
    if fits:
        assert look_at(path, reader).size == (64, 48)
    else:
        with pytest.raises(BrokenFile, match=f"the network takes {channels}"):
            look_at(path, reader)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_has_the_size_that_the_loader_gives_it(tmp_path, kind, orientation):
    path = saved(tmp_path, RGB, kind, **turned(orientation))
    sideways = orientation > 4
    for colour, turns in (("color", True), ("color_ignore_orientation", False)):
        seen = look_at(path, Reader(colour=colour))
        assert seen.size == ((48, 64) if sideways and turns else (64, 48))
        assert seen.orientation == orientation
        assert seen.unturned == (seen.size[::-1] if sideways else seen.size)


def test_an_orientation_that_does_not_exist_is_none(tmp_path):
    assert look_at(saved(tmp_path, RGB, "JPEG", **turned(11)), Reader()).orientation == 1


@pytest.mark.parametrize("kind", ["WEBP", "TIFF", "PNG", "GIF"])
def test_of_several_pictures_the_first_is_noted(tmp_path, kind):
    more = {"save_all": True, "append_images": [RGB.rotate(180)]}
    notes = dict(look_at(saved(tmp_path, RGB, kind, **more), Reader()).notes)
    assert notes["picture-animated"] == "2 pictures in one file"


def test_what_no_loader_reads_is_an_error(tmp_path):
    depths = Image.fromarray(np.linspace(0, 1, 48 * 64, dtype=np.float32).reshape(48, 64))
    with pytest.raises(BrokenFile, match="imdecode_backend cv2") as broken:
        look_at(saved(tmp_path, depths, "TIFF"), Reader())
    assert broken.value.rule == "file-unreadable"


def test_what_would_fill_the_memory_of_many_workers_is_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "DECODED", 64 * 48 - 1)
    content = io.BytesIO()
    RGB.save(content, "JPEG")
    (tmp_path / "cut.jpg").write_bytes(content.getvalue()[:-200])
    seen = look_at(str(tmp_path / "cut.jpg"), Reader())
    assert seen.notes == (("picture-large", "64x48 px"),)
