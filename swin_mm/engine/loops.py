"""Training loops that go on in the middle of an epoch as if they had never stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmengine.runner import EpochBasedTrainLoop, IterBasedTrainLoop
from torch import nn
from torch.utils.data import DataLoader

from swin_mm.engine.seeded_batches import PlacedBatches, reseed, seed_of, seeded_loader, set_epoch
from swin_mm.registry import LOOPS

# What a loop writes into MMEngine's message hub, which every checkpoint holds.
BATCHES_DONE = "batches_done"  # of the epoch that is under way
SAMPLER_SEED = "sampler_seed"
VALIDATED = "last_validated"  # the iteration after which the weights were last validated


class _TakesUp:
    """What both loops do: batches that are placed, and a start where a checkpoint stopped."""

    _loader: DataLoader

    @property
    def dataloader(self) -> DataLoader:
        """The loader, its samples seeded one by one."""
        return self._loader

    @dataloader.setter
    def dataloader(self, loader: DataLoader) -> None:
        self._loader = seeded_loader(loader)

    @property
    def batches(self) -> PlacedBatches:
        """The batches of the loader."""
        return self._loader.batch_sampler

    def take_up(self) -> None:
        """Give the data the seeds of the run, the old one's if this one goes on from it.

        A validation that was due after the checkpoint's last iteration, and that a kill cut off,
        comes first: schedulers and the best checkpoint follow from its metrics.
        """
        told = self.runner.message_hub.runtime_info
        self.batches.seed = self.runner.seed
        sampler = self.batches.sampler
        if self._iter:
            diverse = self.runner._randomness_cfg.get("diff_rank_seed", False)
            seed = told.get(SAMPLER_SEED, None if diverse else self.runner.seed)
            if seed is not None:
                reseed(sampler, seed)
        else:
            for name in (BATCHES_DONE, VALIDATED):
                self.runner.message_hub.update_info(name, 0)
        if seed_of(sampler) is not None:
            self.runner.message_hub.update_info(SAMPLER_SEED, seed_of(sampler))
        cut_off = self._iter and told.get(VALIDATED, self._iter) != self._iter
        if cut_off and not told.get(BATCHES_DONE, 0):
            self.validate_if_due()

    def validate_if_due(self) -> None:
        """Validate if this many epochs or iterations ask for it."""
        if self.runner.val_loop is None or not self.is_validation_due():
            return
        self.runner.val_loop.run()
        self.runner.message_hub.update_info(VALIDATED, self._iter)


def _is_due(done: int, last: int, *, begin: int, interval: int) -> bool:
    return done >= begin and (done % interval == 0 or done == last)


@LOOPS.register_module()
class ResumableEpochLoop(_TakesUp, EpochBasedTrainLoop):
    """MMEngine's loop of epochs, which also goes on within one, from the very next batch.

    Takes MMEngine's arguments. A sample's augmentation follows from the run's seed, the iteration
    and its index, so that it is the same after a resume and with any number of workers.
    """

    def run(self) -> nn.Module:
        """Train, and return the model."""
        self.runner.call_hook("before_train")
        self.take_up()
        while self._epoch < self._max_epochs and not self.stop_training:
            self.run_epoch()
            self._decide_current_val_interval()
            self.validate_if_due()
        self.runner.call_hook("after_train")
        return self.runner.model

    def run_epoch(self) -> None:
        """Train what is left of an epoch."""
        hub = self.runner.message_hub
        done = hub.runtime_info.get(BATCHES_DONE, 0)
        self.runner.call_hook("before_train_epoch")
        self.runner.model.train()
        self.batches.begin(iteration=self._iter, skip=done)
        for number, batch in enumerate(self.dataloader, done):
            hub.update_info(BATCHES_DONE, number + 1)
            self.run_iter(number, batch)
        hub.update_info(BATCHES_DONE, 0)
        self.runner.call_hook("after_train_epoch")
        self._epoch += 1

    def is_validation_due(self) -> bool:
        """Whether the epoch that has just ended is one to validate after."""
        return _is_due(
            self._epoch, self._max_epochs, begin=self.val_begin, interval=self.val_interval
        )


@LOOPS.register_module()
class ResumableIterLoop(_TakesUp, IterBasedTrainLoop):
    """MMEngine's loop of iterations, which goes on with the very batch that would have come.

    Takes MMEngine's arguments. With `fast_forward_on_resume` the data start from the beginning
    again.
    """

    def run(self) -> nn.Module:
        """Train, and return the model."""
        self.runner.call_hook("before_train")
        self.runner.call_hook("before_train_epoch")
        self.take_up()
        batches = self._endless()
        while self._iter < self._max_iters and not self.stop_training:
            self.runner.model.train()
            self.run_iter(next(batches))
            self._decide_current_val_interval()
            self.validate_if_due()
        self.runner.call_hook("after_train_epoch")
        self.runner.call_hook("after_train")
        return self.runner.model

    def _endless(self) -> Iterator[Sequence]:
        """Give batches pass after pass, without those of the iterations already done."""
        skip = 0 if getattr(self, "fast_forward_on_resume", False) else self._iter
        passes = 0
        while True:
            set_epoch(self.batches.sampler, passes)
            skipped = self.batches.begin(iteration=self._iter, skip=skip)
            ended, skip = skipped < skip, skip - skipped
            before = self._iter
            if not ended:
                yield from self.dataloader
            if not skipped and self._iter == before:
                raise ValueError(
                    "a training needs a batch of data; the loader gives none. Is the data set "
                    "smaller than a batch, with drop_last=True?"
                )
            passes += 1

    def is_validation_due(self) -> bool:
        """Whether the iteration that has just ended is one to validate after."""
        return _is_due(
            self._iter, self._max_iters, begin=self.val_begin, interval=self.val_interval
        )
