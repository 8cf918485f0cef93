"""A folder of data with one of each fault: `python tests/support/faulty_data.py DIR`.

Then `python tools/check_data.py CONFIG --data-root DIR` names each, for
`configs/mask_rcnn_swin_t.py` and `configs/upernet_swin_t.py`.
"""

import io
import json
import struct
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

SIZE = (64, 48)  # px
_ORIENTATION = 0x0112  # EXIF's tag
_OVAL = [32.0, 10.0, 44.0, 16.0, 48.0, 24.0, 44.0, 32.0, 32.0, 38.0, 20.0, 32.0, 16.0, 24.0]


def write_coco(root: Path) -> dict[str, str]:
    """Write `annotations/instances_{train,val}2017.json` and `train2017/`, in COCO's layout.

    Returns:
        By rule a word of the file or record that breaks it.
    """
    from mmdet.datasets import CocoDataset

    pictures = root / "train2017"
    pictures.mkdir(parents=True)
    (root / "val2017").mkdir()
    (root / "annotations").mkdir()
    images, annotations, expected = [], [], {}

    def image(name: str, content: bytes | None, size: tuple[int, int] = SIZE) -> int:
        if content is not None:
            (pictures / name).write_bytes(content)
        images.append(
            {"id": len(images) + 1, "file_name": name, "width": size[0], "height": size[1]}
        )
        return len(images)

    def annotation(image_id: int, **changes: object) -> int:
        number = 100 + len(annotations)
        record = {"id": number, "image_id": image_id, "category_id": 1, "iscrowd": 0}
        record |= {"bbox": [16, 10, 32, 28], "area": 700.0, "segmentation": [_OVAL]} | changes
        annotations.append({key: value for key, value in record.items() if value != "absent"})
        return number

    for rule, (name, content, *size) in _pictures().items():
        annotation(image(name, content, *size))
        expected[rule] = name
    sound = image("sound.jpg", _encode(_scene(), "JPEG"))
    for rule, changes in _annotations().items():
        expected[rule] = f"annotation {annotation(sound, **changes)} "
    expected["picture-unknown"] = f"annotation {annotation(9999)} "
    annotations.append(dict(annotations[0]))
    expected["annotation-id-twice"] = "annotation 100 "
    images.append(dict(images[0], file_name="other.jpg"))
    expected["image-id-twice"] = "image 1: "
    images.append(dict(images[-2], id=5000))
    expected["file-twice"] = "sound.jpg"
    images.append({"id": 6000, "file_name": "sizeless.jpg"})
    expected["record-incomplete"] = "image 6000"

    names = list(CocoDataset.METAINFO["classes"])
    names[3], names[4] = names[4], names[3]
    expected["class-order"] = "place 3 is 'motorcycle'"
    expected["class-missing"] = f"category {names.pop()!r}"
    categories = [{"id": number, "name": name} for number, name in enumerate(names, 1)]
    categories += [{"id": 1, "name": "first again"}, {"id": 500, "name": "unicorn"}]
    expected["category-id-twice"] = "category 1: person and first again"
    expected["category-unused"] = "1 of 80: unicorn"
    _write_json(root, "train", {"images": images, "annotations": annotations} | {
        "categories": categories})  # fmt: skip
    (root / "annotations/instances_val2017.json").write_text('{"images": [{"id": 1, ')
    expected["annotations-unreadable"] = "instances_val2017.json"
    return expected


def write_ade(root: Path) -> dict[str, str]:
    """Write `ADEChallengeData2016` in ADE20K's layout.

    Returns:
        By rule a word of the file that breaks it.
    """
    base = root / "ADEChallengeData2016"
    for place in ("images", "annotations"):
        for split in ("training", "validation"):
            (base / place / split).mkdir(parents=True)
    images, labels = base / "images/training", base / "annotations/training"
    sound = _encode(_scene(), "JPEG")
    classes = (np.indices(SIZE[::-1]).sum(axis=0) % 150 + 1).astype(np.uint8)
    faults = {
        "sound": Image.fromarray(classes),
        "label-missing": None,
        "label-size": Image.fromarray(classes[:, ::2].copy()),
        "label-colours": Image.fromarray(np.stack([classes] * 3, axis=-1)),
        "label-beyond": Image.fromarray(np.where(classes == 7, 151, classes).astype(np.uint8)),
        "label-void": Image.fromarray(np.zeros_like(classes)),
        "file-truncated": _encode(Image.fromarray(classes), "PNG")[:-20],
        "file-empty": b"",
        "file-unreadable": b"<html>404</html>",
        "picture-turned": Image.fromarray(classes),
    }
    for name, label in faults.items():
        (images / f"{name}.jpg").write_bytes(sound)
        if label is not None:
            content = label if isinstance(label, bytes) else _encode(label, "PNG")
            (labels / f"{name}.png").write_bytes(content)
    (images / "picture-turned.jpg").write_bytes(_encode(_scene(), "JPEG", turned=6))
    (labels / "label-alone.png").write_bytes(_encode(faults["sound"], "PNG"))
    (images / "picture-unlisted.jpeg").write_bytes(sound)
    palette = faults["sound"].convert("P")  # indices with colours: sound
    (images / "palette.jpg").write_bytes(sound)
    (labels / "palette.png").write_bytes(_encode(palette, "PNG"))
    expected = {rule: f"{rule}." for rule in faults if rule != "sound"}
    expected |= {"label-alone": "label-alone.png", "picture-unlisted": "1 end in .jpeg"}
    for place in ("images", "annotations"):
        (base / place / "validation/.keep").touch()  # empty, it would be passed over
    expected["pictures-none"] = "images/validation"
    return expected


def _pictures() -> dict[str, tuple]:
    """By rule the name of a picture that breaks it, the file, and the size that is annotated."""
    scene = _scene()
    photo, gray = _encode(scene, "JPEG"), scene.convert("L")
    deep = np.asarray(scene)[..., ::-1].astype(np.uint16) * 257
    return {
        "file-missing": ("missing.jpg", None),
        "file-empty": ("zero-byte.jpg", b""),
        "file-unreadable": ("web-page.jpg", b"<html>404</html>"),
        "file-truncated": ("half.jpg", photo[: len(photo) // 2]),
        "file-too-large": ("claims.png", claiming_png(60000, 60000), (60000, 60000)),
        "picture-size": ("resized.jpg", photo, (128, 96)),
        "picture-turned": ("turned.jpg", _encode(scene, "JPEG", turned=6)),
        "picture-gray": ("gray.jpg", _encode(gray, "JPEG")),
        "picture-cmyk": ("cmyk.jpg", _encode(scene.convert("CMYK"), "JPEG")),
        "picture-deep": ("deep.png", cv2.imencode(".png", deep)[1].tobytes()),
        "picture-alpha": ("glass.png", _encode(scene.convert("RGBA"), "PNG")),
        "picture-animated": ("film.webp", _encode(scene, "WEBP", more=[scene.rotate(90)])),
        "picture-exif": ("upside-down.jpg", _encode(scene, "JPEG", turned=3)),
    }


def _annotations() -> dict[str, dict[str, object]]:
    """By rule what is wrong with an annotation that breaks it."""
    runs = {"size": list(SIZE[::-1]), "counts": [SIZE[0] * SIZE[1] - 40, 30]}
    bow_tie = [10.0, 10.0, 40.0, 30.0, 40.0, 10.0, 10.0, 30.0]
    return {
        "category-unknown": {"category_id": 77777},
        "number-not-finite": {"bbox": [16, 10, float("nan"), 28]},
        "box-outside": {"bbox": [70, 10, 20, 20]},
        "box-beyond": {"bbox": [16, 10, 60, 28]},
        "box-empty": {"bbox": [16, 10, 0, 28]},
        "mask-missing": {"segmentation": []},
        "polygon-short": {"segmentation": [_OVAL, _OVAL[:7]]},
        "polygon-outside": {"segmentation": [[100.0, 0.0, 120.0, 0.0, 120.0, 20.0]]},
        "polygon-crossing": {"segmentation": [bow_tie]},
        "rle-size": {"segmentation": runs | {"size": list(SIZE)}, "iscrowd": 1},
        "rle-broken": {"segmentation": runs, "iscrowd": 1},
    }


def claiming_png(width: int, height: int) -> bytes:
    """Make a PNG whose header claims more than its hundred bytes hold."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def claiming_jpeg(width: int, height: int) -> bytes:
    """Make a JPEG whose header claims another size than it has."""
    content = bytearray(_encode(_scene(), "JPEG"))
    start = content.find(b"\xff\xc0") + 5
    content[start : start + 4] = struct.pack(">HH", height, width)
    return bytes(content)


def _scene() -> Image.Image:
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(cv2.resize(coarse, SIZE, interpolation=cv2.INTER_CUBIC))


def _encode(image: Image.Image, kind: str, *, turned: int = 1, more: list | None = None) -> bytes:
    content, exif = io.BytesIO(), Image.Exif()
    exif[_ORIENTATION] = turned
    options = {"exif": exif} if turned != 1 else {}
    options |= {"save_all": True, "append_images": more} if more else {}
    image.save(content, kind, **options)
    return content.getvalue()


def _write_json(root: Path, split: str, content: dict) -> None:
    (root / f"annotations/instances_{split}2017.json").write_text(json.dumps(content))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_coco(folder)
    write_ade(folder)
