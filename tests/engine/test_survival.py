"""Our hook and our loops in any config."""

import pytest
from mmengine.config import Config
from mmengine.hooks import CheckpointHook
from mmengine.runner import EpochBasedTrainLoop

from swin_mm.engine.notes import Notes
from swin_mm.engine.survival import use_resumable_loop, use_safe_checkpoints

OURS = "swin_mm.SafeCheckpointHook"


def test_the_hook_keeps_its_settings(detector: Config) -> None:
    use_safe_checkpoints(detector)
    hook = detector.default_hooks.checkpoint
    assert hook == {"type": OURS, "interval": 1, "max_keep_ckpts": 3}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, {"type": OURS, "interval": 1}),
        ({}, {"type": OURS, "interval": 1}),
        ({"checkpoint": None}, None),
        ({"checkpoint": {"type": "mmengine.CheckpointHook"}}, {"type": OURS}),
        ({"checkpoint": {"type": CheckpointHook}}, {"type": OURS}),
        ({"checkpoint": {"type": "mine.Hook"}}, {"type": "mine.Hook"}),
    ],
)
def test_another_hook_and_none_at_all_stay(before: dict | None, after: dict | None) -> None:
    cfg = Config({"default_hooks": before})
    use_safe_checkpoints(cfg)
    assert cfg.default_hooks.checkpoint == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"type": "EpochBasedTrainLoop"}, "swin_mm.ResumableEpochLoop"),
        ({"type": "mmengine.IterBasedTrainLoop"}, "swin_mm.ResumableIterLoop"),
        ({"type": EpochBasedTrainLoop}, "swin_mm.ResumableEpochLoop"),
        ({"by_epoch": True}, "swin_mm.ResumableEpochLoop"),
        ({"by_epoch": False}, "swin_mm.ResumableIterLoop"),
        ({}, "swin_mm.ResumableEpochLoop"),
        ({"type": "swin_mm.ResumableIterLoop"}, "swin_mm.ResumableIterLoop"),
    ],
)
def test_mmengines_loops_become_ours(
    before: dict, after: str, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    cfg = Config({"train_cfg": {**before, "val_interval": 2}})
    use_resumable_loop(cfg, notes)
    assert cfg.train_cfg == {"type": after, "val_interval": 2}
    assert capsys.readouterr().out == ""


def test_another_loop_stays_and_is_told_of(notes: Notes, capsys: pytest.CaptureFixture) -> None:
    cfg = Config({"train_cfg": {"type": "mine.Loop"}})
    use_resumable_loop(cfg, notes)
    assert cfg.train_cfg.type == "mine.Loop"
    assert "mine.Loop, none of ours" in capsys.readouterr().out
