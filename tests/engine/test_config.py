"""Reading configs."""

import copy
from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.hooks import EMAHook

from swin_mm import SwinTransformer
from swin_mm.engine.config import allow_no_workers, import_host, read_config, type_of
from swin_mm.engine.errors import UsageError


def test_a_missing_config_is_answered_with_the_near_one(root: Path) -> None:
    with pytest.raises(UsageError, match=r"did you mean .*upernet_swin_t\.py"):
        read_config(str(root / "configs/upernet_swint.py"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model = dict(", "not a config"),
        ("_base_ = 'nowhere.py'", "nowhere.py"),
        ("custom_imports = dict(imports=['no_such_module_xyz'])", "no_such_module_xyz"),
        ("model = nobody_knows_this", "NameError: name 'nobody_knows_this'"),
    ],
)
def test_a_config_that_cannot_be_read_is_a_usage_error(
    text: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.py"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_config(str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "which is not there. Files below _base_ are parts"),
        ("model = dict(type='X')", "which is not there"),
        ("model = 'x'", "which is not there"),
        ("model = dict(backbone='resnet')", "which is 'resnet'"),
        ("model = dict(backbone={})", "which is '{}'"),
    ],
)
def test_a_config_without_what_a_command_reads_is_a_usage_error(
    text: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.py"
    path.write_text(text)
    read_config(str(path))
    with pytest.raises(UsageError, match=f"must have a group of settings model.backbone, {says}"):
        read_config(str(path), needs=["model.backbone"])


def test_a_config_is_formatted_again_only_after_a_change(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = read_config(str(root / "configs/upernet_swin_t.py"))
    text = cfg.pretty_text
    monkeypatch.setattr(Config, "pretty_text", property(lambda cfg: "new"))
    assert cfg.pretty_text == copy.deepcopy(cfg).pretty_text == text
    cfg.model.decode_head.channels = 1
    assert cfg.pretty_text == "new"


def test_a_host_that_is_not_installed_is_named() -> None:
    with pytest.raises(UsageError, match="mmrotate, which is not installed"):
        import_host(Config({"default_scope": "mmrotate"}))


def test_no_workers_may_be_set_alone(detector: Config) -> None:
    detector.train_dataloader.num_workers = 0
    allow_no_workers(detector)
    assert not detector.train_dataloader.persistent_workers
    assert detector.val_dataloader.persistent_workers


@pytest.mark.parametrize(
    ("kind", "called"),
    [
        ("EMAHook", "EMAHook"),
        ("mmengine.EMAHook", "EMAHook"),
        ("mmengine.hooks.ema_hook.EMAHook", "EMAHook"),
        (EMAHook, "EMAHook"),
        ("swin_mm.SwinTransformer", "swin_mm.SwinTransformer"),
        (SwinTransformer, "swin_mm.backbones.swin.SwinTransformer"),
        ("mine.EMAHook", "mine.EMAHook"),
        (None, ""),
    ],
)
def test_a_type_is_called_the_same_by_name_and_by_class(kind: object, called: str) -> None:
    assert type_of({"type": kind}) == called
