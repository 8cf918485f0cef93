"""The random numbers of a process: kept, given back, and drawn anew for one sample."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

NAME = "random_states"  # in a checkpoint: what `capture` returns, by rank
_NUMPY = "MT19937"


def capture() -> dict[str, Any]:
    """Take down where Python's, NumPy's and torch's random numbers stand, and the GPU's.

    Returns:
        Tensors and plain values alone, as a checkpoint may hold without code.
    """
    version, words, gauss = random.getstate()
    _, array, *rest = np.random.get_state()
    states = {
        "python": [version, torch.tensor(words, dtype=torch.int64), gauss],
        "numpy": [torch.from_numpy(array.astype(np.int64)), *rest],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def restore(states: dict[str, Any]) -> None:
    """Let the random numbers go on from where they stood at `capture`."""
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words.tolist()), gauss))
    array, position, has_gauss, cached = states["numpy"]
    np.random.set_state(
        (_NUMPY, array.cpu().numpy().astype(np.uint32), position, has_gauss, cached)
    )
    torch.set_rng_state(states["torch"].cpu())
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"].cpu())


@contextmanager
def drawn_from(numbers: Sequence[int]) -> Iterator[None]:
    """Draw random numbers that follow from some integers, >= 0, alone; afterwards go on as before.

    The GPU's are not touched: what is drawn here, a worker draws too.
    """
    before = capture_here()
    words = np.random.SeedSequence(list(numbers)).generate_state(8, np.uint32)
    random.seed(int.from_bytes(words[:4].tobytes(), "little"))
    np.random.seed(words[4:6])
    torch.default_generator.manual_seed(int.from_bytes(words[6:8].tobytes(), "little") >> 1)
    try:
        yield
    finally:
        restore_here(before)


def capture_here() -> tuple:
    """Take down the states of this process's own generators, as they are."""
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def restore_here(states: tuple) -> None:
    """Give them back."""
    python, numpy, native = states
    random.setstate(python)
    np.random.set_state(numpy)
    torch.set_rng_state(native)
