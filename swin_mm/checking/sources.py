"""Which data sets a config names, and how its pipelines read them."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmengine.config import Config
from mmengine.dataset import BaseDataset
from mmengine.registry import DATASETS

from swin_mm.checking.faults import DataError
from swin_mm.checking.heads import counted_classes

# By host and class: the format, and the methods that read it.
_OURS = {
    ("mmdet", "CocoDataset"): ("coco", ("load_data_list", "parse_data_info")),
    ("mmseg", "BaseSegDataset"): ("labels", ("load_data_list",)),
}


@dataclass(frozen=True)
class Reader:
    """How a pipeline's step reads a picture.

    Attributes:
        colour: `color_type` of `LoadImageFromFile`.
        backend: `imdecode_backend`.
        channels: how many the network takes.
        storage: `backend_args`, where pictures do not lie on a disk.
    """

    colour: str = "color"
    backend: str = "cv2"
    channels: int = 3
    storage: Mapping[str, Any] | None = None

    @property
    def turns(self) -> bool:
        """Whether it follows the EXIF orientation, as far as a format has one."""
        return self.colour in ("color", "grayscale") and self.backend in ("cv2", "pillow")


@dataclass(frozen=True)
class Source:
    """One data set of a config, not read yet.

    Attributes:
        splits: which of `train`, `val`, `test` read it.
        title: the name of its class.
        dataset: built, but for its annotations; `None` if that cannot be done.
        kind: `coco`, `labels`, `other` for a format that only its own class reads, or `unknown`
            for a class that is none of MMEngine's.
        reader: how its pipeline reads pictures.
        labels: how it reads label pictures.
        masks: whether it reads instance masks.
        heads: how many classes the model's heads know, by the settings that say so.
        ignore: the label that its loss leaves out.
    """

    splits: tuple[str, ...]
    title: str
    dataset: Any
    kind: str
    reader: Reader = field(default_factory=Reader)
    labels: Reader | None = None
    masks: bool = False
    heads: Mapping[str, int] = field(default_factory=dict)
    ignore: int = 255

    @property
    def name(self) -> str:
        """Its annotation file, its folder of pictures, or its class."""
        if self.dataset is None:
            return self.title
        folders = self.dataset.data_prefix
        return str(self.dataset.ann_file or folders.get("img_path") or folders.get("img") or "")


def find_sources(cfg: Config, splits: Sequence[str]) -> list[Source]:
    """Find the data sets of some splits, inside wrappers too, each once.

    Args:
        cfg: a config whose host is imported and whose scope is set.
        splits: of `train`, `val`, `test`.

    Raises:
        DataError: if a split has no data set, or a data set cannot be built.
    """
    uses: dict[str, tuple[dict, list[str]]] = {}
    for split in splits:
        loader = cfg.get(f"{split}_dataloader") or {}
        found = list(leaves_of(loader.get("dataset")))
        if not found and loader.get("dataset") is not None:
            found = [{"type": type(loader["dataset"]), "built": True}]
        if not found:
            named = [name for name in ("train", "val", "test") if cfg.get(f"{name}_dataloader")]
            raise DataError(
                f"the config names no data for {split}: it has {', '.join(named) or 'no'} "
                f"dataloaders. Leave {split} out"
            )
        for node in found:
            _, users = uses.setdefault(repr(node), (node, []))
            if split not in users:
                users.append(split)
    return [_source(cfg, node, tuple(users)) for node, users in uses.values()]


def leaves_of(node: Any) -> Iterator[dict]:
    """Go through the data sets of a config that wrap no other.

    What wraps one holds it under `dataset`, or several under `datasets`.
    """
    if isinstance(node, dict):
        inner = node.get("datasets") or ([node["dataset"]] if "dataset" in node else [])
        if not inner and "type" in node:
            yield node
        node = inner
    if isinstance(node, list | tuple):
        for child in node:
            yield from leaves_of(child)


def _source(cfg: Config, node: dict, splits: tuple[str, ...]) -> Source:
    kind = node["type"]
    title = kind if isinstance(kind, str) else kind.__name__
    try:
        # The host complains, and prints, of optional packages that are not there.
        with (
            DATASETS.switch_scope_and_registry(cfg.get("default_scope")) as registry,
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            known = registry.get(kind) if isinstance(kind, str) else kind
            if not (isinstance(known, type) and issubclass(known, BaseDataset)):
                if known is None:
                    raise KeyError(f"no such class is registered in {registry.scope}")
                return Source(splits, title, None, "unknown")
            dataset = registry.build({**node, "lazy_init": True})
    except Exception as error:  # a class of the user's may fail in any way
        what = f"{type(error).__name__}: {error}"
        raise DataError(
            f"the {splits[0]} data set {title} cannot be built: {what}. "
            f"Mend {splits[0]}_dataloader.dataset"
        ) from error
    classes = dataset.metainfo.get("classes")
    if isinstance(classes, str):
        raise DataError(
            f"metainfo.classes of the {splits[0]} data set must be a list of names, got the text "
            f"{classes!r}. One class is ({classes!r},), with the comma"
        )
    steps = list(_steps(getattr(dataset, "pipeline", None)))
    model = cfg.get("model") or {}
    channels = len((model.get("data_preprocessor") or {}).get("mean") or "RGB")
    ignore = _first(model.get("decode_head")).get("ignore_index", 255)
    load = next((step for step in steps if hasattr(step, "color_type")), None)
    annotate = [step for step in steps if hasattr(step, "with_seg")]
    labels = next((step for step in annotate if step.with_seg), None)
    storage = getattr(dataset, "backend_args", None)
    return Source(
        splits,
        title,
        dataset,
        _kind(dataset),
        _reader(load, channels, storage) if load else Reader(channels=channels, storage=storage),
        _reader(labels, 1, storage) if labels else None,
        any(getattr(step, "with_mask", False) for step in annotate),
        dict(counted_classes(model)),
        ignore,
    )


def _kind(dataset: Any) -> str:
    """Tell the formats that we read ourselves; a subclass that reads its own is `other`."""
    for base in type(dataset).__mro__:
        read = _OURS.get((base.__module__.partition(".")[0], base.__name__))
        if read is not None:
            kind, methods = read
            same = all(getattr(type(dataset), name) is getattr(base, name) for name in methods)
            return kind if same else "other"
    return "other"


def _steps(node: Any) -> Iterator[Any]:
    """Go through the steps of a built pipeline, inside steps that hold steps too."""
    inner = getattr(node, "transforms", node)
    if isinstance(inner, list | tuple):
        for step in inner:
            yield from _steps(step)
    elif node is not None:
        yield node


def _reader(step: Any, channels: int, storage: Mapping[str, Any] | None) -> Reader:
    return Reader(
        getattr(step, "color_type", "unchanged"),
        step.imdecode_backend or "cv2",
        channels,
        getattr(step, "backend_args", None) or storage,
    )


def _first(heads: Any) -> Mapping[str, Any]:
    return (heads[0] if isinstance(heads, list | tuple) else heads) or {}
