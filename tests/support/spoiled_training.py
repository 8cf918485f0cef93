"""A training of two layers, one number of which is spoiled on order."""

import re

import pytest
import torch
from mmengine.model import BaseDataPreprocessor, BaseModel
from mmengine.runner import Runner
from mmengine.structures import BaseDataElement
from torch import nn

from swin_mm.engine.finite import NonFiniteError


class Noisy(BaseDataPreprocessor):
    """Adds noise, as an augmentation of whole batches does, and notes where it was drawn from."""

    def __init__(self):
        super().__init__()
        self.drawn_from = []

    def forward(self, data, training=False):
        self.drawn_from.append(torch.get_rng_state())
        data = super().forward(data, training)
        return {**data, "inputs": [x + torch.rand(4) for x in data["inputs"]]}


class Toy(BaseModel):
    """Two layers, batch norm and dropout between them; told what to spoil, and when."""

    def __init__(self, spoil=None, at=2):
        super().__init__(data_preprocessor=Noisy())
        torch.manual_seed(3)
        self.first, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.last = nn.Linear(4, 1)
        self.spoil, self.at, self.seen = spoil, at, []

    def forward(self, inputs, data_samples=None, mode="loss"):
        pictures = [sample.img_path for sample in data_samples]
        number = int(re.search(r"\d+", pictures[0])[0])
        spoil = self.spoil if number == self.at else None
        x = torch.stack(inputs)
        if spoil == "weights":
            self.first.weight.data[0, 0] = float("nan")
        x = self.norm(self.first(x))
        if spoil == "activation":
            x = x.mul(1e30).mul(1e30)
        kept = self.drop(x)
        self.seen.append((number, kept.detach().clone()))
        x = self.last(kept).mean()
        term = x.new_tensor(float("inf")) if spoil == "loss" else x.new_tensor(0.0)
        if spoil == "scaled gradient":
            term = self.last.bias.sum() * 3e38
        if spoil == "gradient":
            x = x + (self.last.bias * 0).abs().sqrt().sum()
        return {"loss_box": x.square(), "loss_cls": term}


def batches(*, spoiled_inputs=False, number=6):
    for index in range(1, number + 1):
        inputs = [torch.rand(4) for _ in range(3)]
        if spoiled_inputs and index == 2:
            inputs[1][0] = float("nan")
        names = [f"{folder}/{index}.jpg" for folder in "abc"]
        yield {"inputs": inputs, "data_samples": [sample(name) for name in names]}


def sample(path):
    return BaseDataElement(metainfo={"img_path": path})


class Batches(torch.utils.data.IterableDataset):
    def __init__(self, **given):
        self.given = given

    def __iter__(self):
        return batches(**self.given)


def runner(folder, model, *, data=None, hook=None, **changes):
    wrapper = {"optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}}
    return Runner(
        model=model,
        work_dir=str(folder),
        train_dataloader=torch.utils.data.DataLoader(data or Batches(), batch_size=None),
        train_cfg={"type": "IterBasedTrainLoop", "max_iters": 4},
        optim_wrapper=changes.pop("optim_wrapper", wrapper),
        custom_hooks=[hook or {"type": "swin_mm.FiniteHook"}],
        default_hooks={"logger": None, "checkpoint": None, "sampler_seed": None},
        experiment_name=folder.name,
        randomness={"seed": 5},
        log_level="ERROR",
        **changes,
    )


def stopped(run):
    with pytest.raises(NonFiniteError) as caught:
        run.train()
    return str(caught.value)
