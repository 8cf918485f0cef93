"""Two processes against one: no unused parameters, nothing reduced twice, the same gradients."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from random_weights import randomise

from swin_mm import SwinTransformer

SUPPORT = Path(__file__).parents[1] / "support"
NARROW = {"embed_dims": 8, "depths": (2, 2, 2, 1), "num_heads": (1, 2, 2, 4), "drop_path_rate": 0.0}


@pytest.mark.parametrize(
    "options",
    [{"with_cp": True, "out_indices": (0, 2)}, {"with_cp": False, "frozen_stages": 2}],
    ids=["recomputing by chunks", "some frozen"],
)
def test_two_processes_train_as_one_does(options, tmp_path):
    options = {**NARROW, **options}
    command = [sys.executable, "-W", "ignore", SUPPORT / "two_ranks.py"]
    arguments = [str(tmp_path / "meeting"), str(tmp_path), json.dumps(options)]
    ranks = [
        subprocess.Popen([*command, str(rank), *arguments], stderr=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    errors = [rank.communicate()[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], errors

    model = randomise(SwinTransformer(**options)).train()
    pictures = torch.randn(4, 3, 140, 300, generator=torch.Generator().manual_seed(0))
    sum(out.square().mean() for out in model(pictures)).backward()
    reduced = torch.load(tmp_path / "gradients.pth", weights_only=True)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            assert reduced[name] is None, name
            continue
        floor = 1e-7 + 1e-5 * parameter.grad.abs().max()
        assert (reduced[name] - parameter.grad).abs().max() <= floor, name
