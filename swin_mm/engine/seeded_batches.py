"""Batches that can be taken up anywhere, each sample augmented from a seed of its own."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mmengine.dataset import InfiniteSampler
from torch.utils.data import DataLoader, Dataset

from swin_mm.engine.random_states import drawn_from

# How long a worker outlives a SIGTERM that came to all processes, s: its data are still needed for
# the last iteration, and its own process ends it sooner.
_GRACE = 60

Place = tuple[Any, tuple[int, ...]]  # an index of the data set, and what seeds its augmentation


class SeededSamples(Dataset):
    """A data set whose samples are augmented from given numbers, in whichever process.

    All attributes are the data set's, to read and to set: hooks that change its pipeline do.
    """

    def __init__(self, dataset: Dataset) -> None:
        object.__setattr__(self, "dataset_alone", dataset)

    def __getitem__(self, place: Place) -> Any:
        index, numbers = place
        with drawn_from(numbers):
            return self.dataset_alone[index]

    def __len__(self) -> int:
        return len(self.dataset_alone)

    def __getattr__(self, name: str) -> Any:
        if name == "dataset_alone":  # asked for before there is one, as by pickle
            raise AttributeError(name)
        return getattr(self.dataset_alone, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.dataset_alone, name, value)

    def __reduce__(self) -> tuple:
        return SeededSamples, (self.dataset_alone,)


class PlacedBatches:
    """The batches of a sampler, from any of them on, numbered by the iteration they are for.

    A sample's augmentation follows from the run's seed, the iteration, the sample's index, and how
    often the batch has had it before: neither from the workers nor from what was drawn before.

    Args:
        batches: the batch sampler.
        seed: the run's, >= 0.
    """

    def __init__(self, batches: Any, seed: int = 0) -> None:
        self.batches = batches
        self.seed = seed
        self._walk: Iterator | None = None
        self._iteration = 0

    @property
    def sampler(self) -> Any:
        """The sampler below, whose epoch MMEngine sets."""
        return self.batches.sampler

    @property
    def batch_size(self) -> int:
        """Samples in a batch."""
        return self.batches.batch_size

    def begin(self, *, iteration: int, skip: int) -> int:
        """Begin a pass over the data.

        Args:
            iteration: what the first batch that is given is for.
            skip: batches to leave out first; only their indices are drawn.

        Returns:
            How many were left out; fewer if the pass has no more.
        """
        self._walk, self._iteration = iter(self.batches), iteration
        for skipped in range(skip):
            if next(self._walk, None) is None:
                return skipped
        return skip

    def __iter__(self) -> Iterator[list[Place]]:
        """Give the rest of the pass; nothing before one has begun."""
        walk, self._walk = self._walk or iter(()), None
        for iteration, batch in enumerate(walk, self._iteration):
            yield [
                (index, (self.seed, iteration, *_integers(index), batch[:position].count(index)))
                for position, index in enumerate(batch)
            ]

    def __len__(self) -> int:
        return len(self.batches)


def _integers(index: Any) -> list[int]:
    """Write an index as integers; of videos it is a pair."""
    return np.ravel(index).tolist()


class ShieldedWorker:
    """A worker's first steps: let the trainer decide on what Ctrl-C and a cluster's SIGTERM mean.

    Both come to all processes of a job; without its workers the trainer could not finish the
    iteration that it is in. Python ends the workers that are left at the trainer's own end by
    SIGTERM too, and waits for them: that one they obey.

    Args:
        then: what else a worker begins with.
    """

    def __init__(self, then: Callable[[int], None] | None) -> None:
        self.then = then
        self.is_over = multiprocessing.RawValue("b", False)  # one byte for all processes
        # What is registered last is done first: before multiprocessing ends the workers.
        atexit.register(_set, self.is_over, os.getpid())

    def __call__(self, worker: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._hear)
        if self.then is not None:
            self.then(worker)

    def _hear(self, *_: Any) -> None:
        if self.is_over.value:
            os._exit(0)  # as torch's own handler does where SIGTERM comes from the trainer
        signal.alarm(_GRACE)


def _set(flag: Any, owner: int) -> None:
    if os.getpid() == owner:  # and not a process that was forked from it
        flag.value = True


def seeded_loader(loader: DataLoader) -> DataLoader:
    """Make a loader over the same data whose `batch_sampler` are `PlacedBatches`.

    Raises:
        ValueError: if it makes no batches.
    """
    if isinstance(loader.batch_sampler, PlacedBatches):
        return loader
    if loader.batch_sampler is None:
        raise ValueError(
            "a run can go on within an epoch if its loader makes batches of a data set's samples; "
            "this one has batch_size=None. Set a batch_size, or use MMEngine's own training loop"
        )
    more = {} if loader.num_workers == 0 else {"prefetch_factor": loader.prefetch_factor}
    if hasattr(loader, "in_order"):  # of later versions of torch
        more["in_order"] = loader.in_order
    return DataLoader(
        SeededSamples(loader.dataset),
        batch_sampler=PlacedBatches(loader.batch_sampler),
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=ShieldedWorker(loader.worker_init_fn),
        multiprocessing_context=loader.multiprocessing_context,
        generator=loader.generator,
        persistent_workers=loader.persistent_workers,
        pin_memory_device=loader.pin_memory_device,
        **more,
    )


def seed_of(sampler: Any) -> int | None:
    """Return what a sampler shuffles by, if it says so."""
    return getattr(sampler, "seed", None)


def reseed(sampler: Any, seed: int) -> None:
    """Let a sampler shuffle by another seed, from its beginning."""
    if isinstance(sampler, InfiniteSampler):
        again = InfiniteSampler(sampler.dataset, shuffle=sampler.shuffle, seed=seed)
        sampler.indices = again.indices
    if hasattr(sampler, "seed"):
        sampler.seed = seed


def set_epoch(sampler: Any, epoch: int) -> None:
    """Let a sampler shuffle for an epoch, if it does so by epochs."""
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)
