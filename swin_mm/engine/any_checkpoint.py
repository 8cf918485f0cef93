"""A hook with which MMEngine's Runner loads a detector or a segmentor from any file."""

from __future__ import annotations

from typing import Any

from mmengine.hooks import Hook
from mmengine.runner import Runner

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine.safe_loading import allow_safe_reading
from swin_mm.engine.whole_models import complaint, fit_to_model
from swin_mm.registry import HOOKS


@HOOKS.register_module()
class AnyCheckpointHook(Hook):
    """Let ``load_from``, ``resume`` and tests take files of any container and layout, safely.

    From where it is built on, all checkpoints of the process are read by our reader: ``.pth``,
    ``.safetensors`` and ``.pkl``, without running what a pickle names. Tensors may lie under
    ``model`` or another container, their names bear the traces of wrappers. A file with a Swin
    alone fills ``model.backbone``.

    A test of a model that a file left parts of random is refused. Training goes on with them.

    Args:
        unsafe: run the code that pickles name. Only for files you trust.
        must_fill: refuse a file that does not fill the model as soon as it is loaded.
    """

    priority = "VERY_HIGH"  # before hooks that look into the checkpoint, such as EMAHook

    def __init__(self, *, unsafe: bool = False, must_fill: bool = False) -> None:
        allow_safe_reading(unsafe=unsafe)
        self._must_fill = must_fill
        self._missing: tuple[str, ...] = ()

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict[str, Any]) -> None:
        """Bring the checkpoint to the model's names.

        Raises:
            CheckpointError: if it holds nothing for the model, or less than it must.
        """
        self._missing = fit_to_model(checkpoint, runner.model)
        if self._must_fill:
            self._refuse_missing()

    def before_train(self, runner: Runner) -> None:
        """Take it that what is missing is about to be learnt."""
        self._missing = ()

    def before_val(self, runner: Runner) -> None:
        """Refuse to validate a model that is random in parts and has not been trained."""
        self._refuse_missing()

    def before_test(self, runner: Runner) -> None:
        """Refuse to test a model that is random in parts and has not been trained."""
        self._refuse_missing()

    def _refuse_missing(self) -> None:
        if self._missing:
            raise CheckpointError(complaint(self._missing))
