"""Runs as MMEngine leaves them, written by hand, and a small set of annotations."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

LINE = "2026/01/01 00:{minute:02d}:00 - mmengine - INFO - {text}\n"


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Path]:
    """Write one start of a run."""

    def written(
        name: str, rows: Sequence[dict | str], *, log: Sequence[str] = (), environment: str = ""
    ) -> Path:
        folder = tmp_path / "run" / name
        (folder / "vis_data").mkdir(parents=True)
        lines = [row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows]
        (folder / "vis_data" / "scalars.json").write_text("".join(lines))
        text = LINE.format(minute=0, text="\n" + environment) if environment else ""
        text += "".join(LINE.format(minute=3 * i, text=line) for i, line in enumerate(log, 1))
        if text:
            (folder / f"{name}.log").write_text(text)
        return tmp_path / "run"

    return written


@pytest.fixture
def steps() -> Callable[..., list[dict]]:
    """Rows of training at these iterations."""

    def made(*numbers: int, loss: float = 1.0) -> list[dict]:
        rest = {"lr": 1e-4, "time": 0.5, "data_time": 0.1}
        return [{**rest, "loss": loss, "iter": step, "step": step} for step in numbers]

    return made


def square(image: int, category: int, left: float, *, number: int = 0, **more: object) -> dict:
    box = [left, 10.0, 20.0, 20.0]
    outline = [[left, 10, left + 20, 10, left + 20, 30, left, 30]]
    return {
        "id": number,
        "image_id": image,
        "category_id": category,
        "bbox": box,
        "area": 400.0,
        "iscrowd": 0,
        "segmentation": outline,
        **more,
    }


@pytest.fixture
def annotations() -> dict:
    """Two pictures, three squares of two classes, a crowd, a class that nowhere occurs."""
    crowd = square(2, 3, 60, number=4, iscrowd=1)
    return {
        "images": [
            {"id": number, "file_name": f"{number}.jpg", "width": 100, "height": 50}
            for number in (1, 2)
        ],
        "categories": [
            {"id": number, "name": name} for number, name in ((3, "cat"), (5, "dog"), (9, "yeti"))
        ],
        "annotations": [
            square(1, 3, 10, number=1),
            square(1, 5, 60, number=2),
            square(2, 5, 10, number=3),
            crowd,
        ],
    }


@pytest.fixture
def find() -> Callable[..., dict]:
    """A detection of a square."""

    def found(image: int, category: int, left: float, score: float = 0.9) -> dict:
        whole = square(image, category, left)
        return {key: whole[key] for key in ("image_id", "category_id", "bbox")} | {"score": score}

    return found


@pytest.fixture
def coco(annotations: dict, tmp_path: Path) -> object:
    """The annotations as COCO's tools read them."""
    from pycocotools.coco import COCO

    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(annotations))
    return COCO(str(path))
