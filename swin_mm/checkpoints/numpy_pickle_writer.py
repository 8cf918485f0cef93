"""Write weights as detectron2 and Mask2Former keep them: a pickle of NumPy's arrays."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

_RECONSTRUCT = "numpy.core.multiarray._reconstruct"


def write_numpy_pickle(state: Mapping[str, Tensor], path: str | os.PathLike) -> None:
    """Write tensors as detectron2's ``DetectionCheckpointer`` reads them.

    ``matching_heuristics`` tells it to find the model's names by their endings, so that a backbone
    without prefix loads into a whole detector.

    Raises:
        TypeError: if NumPy has no such numbers.
    """
    arrays = {
        name: tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
        for name, tensor in state.items()
    }
    content = {"model": arrays, "__author__": "swin_mm", "matching_heuristics": True}
    with Path(path).open("wb") as file:
        _Writer(file, protocol=4).dump(content)


class _Writer(pickle._Pickler):
    """Names NumPy 1's function, which NumPy 2 still understands; old ones do not know the new."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        path = f"{obj.__module__}.{obj.__qualname__}"
        if path.replace("_core", "core") == _RECONSTRUCT:
            module, _, function = _RECONSTRUCT.rpartition(".")
            self.write(pickle.GLOBAL + f"{module}\n{function}\n".encode())
            self.memoize(obj)
        else:
            super().save_global(obj, name)
