"""Which distribution every library comes from: read from what pip left, importing nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote

# Import name, and the names of the distributions that provide it: maintained, original, partial.
LIBRARIES = {
    "torch": ("torch",),
    "numpy": ("numpy",),
    "cv2": (
        "opencv-python-headless",
        "opencv-python",
        "opencv-contrib-python",
        "opencv-contrib-python-headless",
    ),
    "mmengine": ("onedl-mmengine", "mmengine", "mmengine-lite"),
    "mmcv": ("onedl-mmcv", "mmcv", "mmcv-lite", "mmcv-full", "onedl-mmcv-lite"),
    "mmdet": ("onedl-mmdetection", "mmdet"),
    "mmseg": ("onedl-mmsegmentation", "mmsegmentation"),
    "swin_mm": ("swin_mm", "swin-mm"),
    "safetensors": ("safetensors",),
    "triton": ("triton", "pytorch-triton"),
    "onnx": ("onnx",),
    "onnxscript": ("onnxscript",),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "openvino": ("openvino",),
}
OPTIONAL = ("safetensors", "triton", "onnx", "onnxscript", "onnxruntime", "openvino")
OPENMMLAB = ("mmengine", "mmcv", "mmdet", "mmseg")


@dataclass(frozen=True)
class Distribution:
    """A distribution as pip recorded it.

    Attributes:
        name: such as `onedl-mmcv`.
        version: of the distribution; the library may say another.
        where: the folder that it lies in, the source's for an editable one.
        editable: whether it was installed with `pip install -e`.
    """

    name: str
    version: str
    where: str
    editable: bool

    @property
    def maintained(self) -> bool:
        """Whether it is one of the maintained forks of OpenMMLab's libraries."""
        return self.name.startswith("onedl-")


def installed(path: Sequence[str] | None = None) -> dict[str, tuple[Distribution, ...]]:
    """Find the distributions that provide each library of `LIBRARIES`.

    Args:
        path: folders to look in (default: this interpreter's).
    """
    found: dict[str, Distribution] = {}
    for one in metadata.distributions(path=list(sys.path if path is None else path)):
        name = _normal(_name(one))
        if name and name not in found:  # the first on the path is the one that is imported
            found[name] = _read(one)
    return {
        library: tuple(found[name] for name in dict.fromkeys(map(_normal, names)) if name in found)
        for library, names in LIBRARIES.items()
    }


def _name(one: metadata.Distribution) -> str:
    """The name, or nothing where a distribution was deleted half way."""
    folder = os.path.basename(str(getattr(one, "_path", "")))
    if folder.startswith("~"):  # to which pip renames what it deletes
        return ""
    try:
        return str(one.metadata["Name"] or "")
    except Exception:  # broken files fail in any way, by Python's version
        return ""


def _read(one: metadata.Distribution) -> Distribution:
    where, editable = str(Path(str(one.locate_file(""))).resolve()), False
    try:
        origin = json.loads(one.read_text("direct_url.json") or "{}")
        if origin.get("dir_info", {}).get("editable"):
            where, editable = unquote(str(origin.get("url", "")).removeprefix("file://")), True
    except (ValueError, AttributeError):  # no JSON, or none that pip writes
        pass
    return Distribution(_name(one), one.metadata["Version"] or "unknown", where, editable)


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
