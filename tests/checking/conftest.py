"""Folders with one of each fault, and configs that read them."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from mmengine.config import Config

from swin_mm.engine.config import import_host, read_config
from swin_mm.engine.datasets import point_data_at
from swin_mm.engine.notes import Notes

DETECTOR, SEGMENTOR = "mask_rcnn_swin_t.py", "upernet_swin_t.py"


@dataclass(frozen=True)
class Faulty:
    """A folder, and by rule a word of the file or record that breaks it."""

    root: Path
    expected: dict[str, str]


@pytest.fixture(scope="session")
def faulty_data(root: Path) -> ModuleType:
    """The script that writes folders with one of each fault."""
    script = root / "tests/support/faulty_data.py"
    spec = importlib.util.spec_from_file_location("faulty_data", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def faulty_coco(faulty_data: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    folder = tmp_path_factory.mktemp("faulty coco")
    return Faulty(folder, faulty_data.write_coco(folder))


@pytest.fixture(scope="session")
def faulty_ade(faulty_data: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    folder = tmp_path_factory.mktemp("faulty ade")
    return Faulty(folder, faulty_data.write_ade(folder))


@pytest.fixture
def config(root: Path) -> Callable[..., Config]:
    """Read a config of ours over another folder, with settings by dotted key."""

    def read(name: str, data: Path, **settings: object) -> Config:
        cfg = read_config(str(root / "configs" / name))
        point_data_at(cfg, str(data), ("train", "val", "test"), Notes(speaks=False))
        cfg.merge_from_dict({key.replace("__", "."): value for key, value in settings.items()})
        import_host(cfg)
        return cfg

    return read
