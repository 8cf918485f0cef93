"""Predictions of a run's checkpoint on its test data, made anew or taken from a file."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config

from swin_mm.engine.config import import_host
from swin_mm.engine.datasets import point_data_at, require_data
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.resume import newest_checkpoint, places_of
from swin_mm.engine.testing import test
from swin_mm.reporting.scenes import Scenes, open_scenes

FOLDER, FILE = "report", "predictions.json"
_RULE = "must hold predictions in COCO's results format, as tools/test.py --out FILE.json writes"


def predict(
    config: str, checkpoint: str, *, work_dir: str, data_root: str | None, unsafe: bool
) -> str:
    """Test a checkpoint as `tools/test.py` does.

    Args:
        config: that the run dumped.
        checkpoint: a file or URL.
        work_dir: of the run; the logs of the test and its predictions go into a folder in it.
        data_root: where the data lies, in place of the config's.
        unsafe: run the code that the checkpoint wants to run.

    Returns:
        The predictions, in COCO's results format.

    Raises:
        UsageError: if the checkpoint cannot be tested.
    """
    folder = os.path.join(work_dir, FOLDER)
    path = os.path.join(folder, FILE)
    test(
        config,
        checkpoint,
        work_dir=folder,
        data_root=data_root,
        out=path,
        force=True,
        unsafe=unsafe,
    )
    return path


def read_predictions(path: str) -> list[Mapping[str, Any]]:
    """Read what `tools/test.py --out FILE.json` wrote.

    Raises:
        UsageError: if the file is none of these.
    """
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        lacking = [one for one in found if not _needed(one) <= one.keys()]
        odd = [one for one in found if not lacking and not _is_sound(one)]
    except FileNotFoundError as error:
        raise UsageError(f"there are no predictions {path}") from error
    except (ValueError, AttributeError, TypeError) as error:
        raise UsageError(f"{path} {_RULE}: {error}") from error
    if lacking:
        absent = ", ".join(sorted(_needed(lacking[0]) - lacking[0].keys()))
        raise UsageError(f"{path} {_RULE}: {len(lacking)} entries lack {absent}")
    if odd:
        raise UsageError(f"{path} {_RULE}: {len(odd)} entries hold others, {str(odd[0])[:200]}")
    return found


def _needed(entry: Mapping[str, Any]) -> set[str]:
    """Objects have a box and a score, labelled pixels have a mask and none."""
    return {"image_id", "category_id", "bbox" if "score" in entry else "segmentation"}


def _is_sound(entry: Mapping[str, Any]) -> bool:
    """Whether the values of an entry are of the kinds that COCO's tools take."""
    box, region = entry.get("bbox", [0] * 4), entry.get("segmentation", {})
    numbers = [entry.get("score", 0), *(box if isinstance(box, list) else [None])]
    return (
        isinstance(entry["image_id"], int | str)
        and isinstance(entry["category_id"], int)
        and len(numbers) == 5
        and all(isinstance(one, int | float) and math.isfinite(one) for one in numbers)
        and isinstance(region, dict | list)
    )


def last_checkpoint(work_dir: str, cfg: Config, *, unsafe: bool = False) -> str | None:
    """Find the checkpoint that a run would go on from: the newest that is whole.

    Args:
        work_dir: of the run.
        cfg: of the run, which may save elsewhere, or under other names.
        unsafe: run the code that a checkpoint wants to run.

    Raises:
        UsageError: if it wants to run code and may not.
    """
    folders, templates = places_of(cfg, work_dir)
    return newest_checkpoint(folders, Notes(), templates=templates, unsafe=unsafe)


def place_beside_truth(
    cfg: Config, found: Sequence[Mapping[str, Any]], *, data_root: str | None
) -> Scenes:
    """Open the test data of a run and judge predictions by it.

    Args:
        cfg: of the run, changed in place.
        found: predictions in COCO's results format.
        data_root: where the data lies, in place of the config's.

    Raises:
        UsageError: if the data is not there, or not that of the predictions.
    """
    if data_root is not None:
        point_data_at(cfg, data_root, ("test",), Notes(speaks=False))
    require_data(cfg, ("test",))
    # The hosts, and COCO's tools, print what they do and lack.
    with contextlib.redirect_stdout(io.StringIO()):
        import_host(cfg)
        return open_scenes(cfg, found)
