"""How a config becomes a run: the work behind `tools/train.py` and `tools/test.py`."""

from swin_mm.engine.any_checkpoint import AnyCheckpointHook
from swin_mm.engine.arguments import ToolParser
from swin_mm.engine.checkpointing import SafeCheckpointHook
from swin_mm.engine.errors import UsageError, run_tool
from swin_mm.engine.finite import FiniteHook, NonFiniteError
from swin_mm.engine.layer_decay import LayerDecayOptimWrapperConstructor
from swin_mm.engine.logger import EvenLoggerHook
from swin_mm.engine.loops import ResumableEpochLoop, ResumableIterLoop
from swin_mm.engine.testing import test
from swin_mm.engine.training import train
from swin_mm.engine.tta import InstanceTTAModel

__all__ = [
    "AnyCheckpointHook",
    "EvenLoggerHook",
    "FiniteHook",
    "InstanceTTAModel",
    "LayerDecayOptimWrapperConstructor",
    "NonFiniteError",
    "ResumableEpochLoop",
    "ResumableIterLoop",
    "SafeCheckpointHook",
    "ToolParser",
    "UsageError",
    "run_tool",
    "test",
    "train",
]
