"""The whole glue to OpenMMLab: child registries under the scope ``swin_mm``.

A config says ``type='swin_mm.SwinTransformer'``. MMEngine imports this module by that scope, by
itself, and asks the registry below, which imports our modules on the first question: so neither
``custom_imports`` nor the order of imports matters, and MMDetection's own ``SwinTransformer``
keeps its name.
"""

from __future__ import annotations

import difflib
import importlib

from mmengine.registry import HOOKS as MMENGINE_HOOKS
from mmengine.registry import LOOPS as MMENGINE_LOOPS
from mmengine.registry import MODELS as MMENGINE_MODELS
from mmengine.registry import OPTIM_WRAPPER_CONSTRUCTORS as MMENGINE_CONSTRUCTORS
from mmengine.registry import TRANSFORMS as MMENGINE_TRANSFORMS
from mmengine.registry import Registry


class NearNameRegistry(Registry):
    """A registry that answers a misspelt name with the names near it.

    Attributes:
        later: a module that is imported for the first name not known without it, and not before:
            what is large, and seldom asked for.
    """

    later: str | None = None

    def get(self, key: str) -> type | None:
        """Return what is registered under a name, or ``None``.

        Raises:
            KeyError: if the name is not known and one of ours is near it.
        """
        found = super().get(key)
        if found is None and self.later is not None:
            later, self.later = self.later, None
            importlib.import_module(later)
            found = super().get(key)
        if found is not None:
            return found
        name = key.rpartition(".")[2]
        near = difflib.get_close_matches(name, self.module_dict, n=3, cutoff=0.6)
        if near:
            proposals = " or ".join(f"{self.scope}.{match}" for match in near)
            raise KeyError(f"swin_mm has no {self.name} named {name!r}; did you mean {proposals}?")
        return None

    def __contains__(self, key: str) -> bool:
        """Whether a name is known; a misspelt one is simply not."""
        try:
            return self.get(key) is not None
        except KeyError:
            return False


MODELS = NearNameRegistry(
    "model", parent=MMENGINE_MODELS, scope="swin_mm", locations=["swin_mm.backbones"]
)
MODELS.later = "swin_mm.engine"  # what tests merge with; a backbone alone needs none of it
HOOKS = NearNameRegistry(
    "hook", parent=MMENGINE_HOOKS, scope="swin_mm", locations=["swin_mm.engine", "swin_mm.checking"]
)
LOOPS = NearNameRegistry(
    "loop", parent=MMENGINE_LOOPS, scope="swin_mm", locations=["swin_mm.engine"]
)
TRANSFORMS = NearNameRegistry(
    "transform",
    parent=MMENGINE_TRANSFORMS,
    scope="swin_mm",
    locations=["swin_mm.checking"],
)
OPTIM_WRAPPER_CONSTRUCTORS = NearNameRegistry(
    "optimizer wrapper constructor",
    parent=MMENGINE_CONSTRUCTORS,
    scope="swin_mm",
    locations=["swin_mm.engine"],
)
