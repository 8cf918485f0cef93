"""Batches that can be taken up anywhere."""

import os
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from mmengine.dataset import DefaultSampler, InfiniteSampler
from torch.utils.data import BatchSampler, DataLoader, Dataset

from swin_mm.engine.seeded_batches import (
    PlacedBatches,
    SeededSamples,
    ShieldedWorker,
    reseed,
    seeded_loader,
    set_epoch,
)


class Noisy(Dataset):
    """Twelve samples, each its index and a number from every generator."""

    pipeline = "first"

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> list[float]:
        return [index, random.random(), np.random.rand(), float(torch.rand(()))]


def loader(workers: int = 0, *, infinite: bool = False, **more: object) -> DataLoader:
    data = Noisy()
    sampler = InfiniteSampler(data, seed=1) if infinite else DefaultSampler(data, seed=1)
    return seeded_loader(
        DataLoader(data, 3, sampler=sampler, num_workers=workers, collate_fn=np.array, **more)
    )


def batches(one: DataLoader, *, iteration: int = 0, skip: int = 0) -> Iterator[list]:
    one.batch_sampler.seed = 5
    one.batch_sampler.begin(iteration=iteration, skip=skip)
    return (batch.tolist() for batch in one)


def test_a_sample_is_the_same_with_any_number_of_workers_and_any_numbers_before() -> None:
    alone = list(batches(loader()))
    random.random()
    torch.rand(3)
    assert list(batches(loader(2))) == alone
    assert len({sample[1] for batch in alone for sample in batch}) == 12


def test_a_pass_taken_up_in_its_middle_gives_the_rest_of_it() -> None:
    whole = list(batches(loader(), iteration=40))
    for workers in (0, 2):
        rest = batches(loader(workers), iteration=42, skip=2)
        assert list(rest) == whole[2:]


def test_persistent_workers_give_each_pass_new_augmentations() -> None:
    one = loader(2, persistent_workers=True)
    first = list(batches(one, iteration=0))
    second = list(batches(one, iteration=4))
    assert [[sample[0] for sample in batch] for batch in first] == [
        [sample[0] for sample in batch] for batch in second
    ]
    assert first[0][0][1:] != second[0][0][1:]
    assert list(batches(loader(), iteration=4)) == second


def test_an_endless_sampler_is_taken_up_too() -> None:
    endless = batches(loader(infinite=True))
    whole = [next(endless) for _ in range(9)]
    later = batches(loader(infinite=True), iteration=7, skip=7)
    assert [next(later), next(later)] == whole[7:9]


def test_skipping_beyond_the_pass_says_how_far_it_came() -> None:
    one = loader().batch_sampler
    assert one.begin(iteration=0, skip=9) == 4
    assert list(one) == []


def test_a_sample_that_a_batch_has_twice_is_augmented_in_two_ways() -> None:
    one = PlacedBatches(BatchSampler([4, 4, 4], 3, False), seed=2)
    one.begin(iteration=6, skip=0)
    assert list(one) == [[(4, (2, 6, 4, 0)), (4, (2, 6, 4, 1)), (4, (2, 6, 4, 2))]]


def test_before_a_pass_has_begun_there_are_no_batches() -> None:
    assert list(loader()) == []


def test_hooks_see_and_change_the_data_set_through_it() -> None:
    data = Noisy()
    seen = pickle.loads(pickle.dumps(SeededSamples(data)))
    assert (len(seen), seen.pipeline) == (12, "first")
    through = SeededSamples(data)
    through.pipeline = "second"
    assert data.pipeline == "second"


def test_the_loader_keeps_its_settings() -> None:
    kept = {"timeout": 7, "pin_memory": False, "prefetch_factor": 3, "persistent_workers": True}
    one = loader(2, **kept)
    assert {name: getattr(one, name) for name in kept} == kept
    assert (len(one), one.batch_sampler.batch_size) == (4, 3)
    assert seeded_loader(one) is one
    assert loader(pin_memory_device="cuda").pin_memory_device == "cuda"
    if hasattr(one, "in_order"):
        assert one.in_order and not loader(2, in_order=False).in_order


def test_a_loader_without_batches_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_size=None"):
        seeded_loader(DataLoader(Noisy(), batch_size=None))


@pytest.mark.parametrize("infinite", [False, True])
def test_a_sampler_reseeded_shuffles_as_one_made_with_that_seed(infinite: bool) -> None:
    kind = InfiniteSampler if infinite else DefaultSampler
    one, other = kind(Noisy(), seed=1), kind(Noisy(), seed=8)
    start = iter(one)
    next(start)
    reseed(one, 8)
    set_epoch(one, 0)
    assert [next(walk) for walk in [iter(one)] * 5] == [next(walk) for walk in [iter(other)] * 5]
    assert one.seed == 8


def test_workers_outlive_ctrl_c_and_a_clusters_sigterm() -> None:
    one = loader(1)
    one.batch_sampler.begin(iteration=0, skip=0)
    walk = iter(one)
    next(walk)
    (worker,) = walk._workers
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(worker.pid, number)
    assert len(list(walk)) == 3


def test_a_worker_that_nobody_ends_does_so_a_minute_after_its_sigterm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard, alarms = {}, []
    monkeypatch.setattr(signal, "signal", heard.__setitem__)
    monkeypatch.setattr(signal, "alarm", alarms.append)
    ShieldedWorker(None)(0)
    heard[signal.SIGTERM](signal.SIGTERM, None)
    assert alarms == [60]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_worker_ends_by_sigterm_once_its_trainer_does(context: str) -> None:
    how = {"num_workers": 1, "persistent_workers": True, "multiprocessing_context": context}
    one = seeded_loader(DataLoader(list(range(12)), 3, **how))  # a list: a spawned one reads it
    one.batch_sampler.begin(iteration=0, skip=0)
    walk = iter(one)
    next(walk)
    (worker,) = walk._workers
    one.worker_init_fn.is_over.value = True
    os.kill(worker.pid, signal.SIGTERM)
    worker.join(50)
    assert worker.exitcode == 0


LEAVING = """
import numpy as np
from mmengine.dataset import InfiniteSampler
from torch.utils.data import DataLoader
from swin_mm.engine.seeded_batches import seeded_loader

data = list(range(12))
loader = seeded_loader(DataLoader(data, 3, sampler=InfiniteSampler(data), num_workers=1))
loader.batch_sampler.begin(iteration=0, skip=0)
walk = loader.kept = iter(loader)
next(walk)
"""


def test_a_process_ends_at_once_though_its_workers_are_alive() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEAVING], capture_output=True, text=True, timeout=50, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
