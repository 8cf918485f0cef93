import dataclasses

import pytest
import torch

from swin_mm.ops.attention import (
    AttentionCase,
    choose_backend,
    prefer_attention,
    preferred_attention,
)
from swin_mm.ops.attention.choice import AUTO, OBSTACLES, choose

TRAINING = AttentionCase(
    "cuda", torch.float16, tokens=49, heads=3, channels=32, bias_learns=True, tokens_learn=True
)


def on(case=TRAINING, **changes):
    return dataclasses.replace(case, **changes)


def test_a_case_is_read_off_the_arguments():
    q, k, v = (torch.randn(5, 2, 6, 4, dtype=torch.float64) for _ in range(3))
    bias = torch.zeros(2, 6, 6, requires_grad=True)
    mask = torch.ones(5, 1, 6, 6, dtype=torch.bool)
    assert AttentionCase.of(q) == AttentionCase("cpu", torch.float64, 6, 2, 4)
    assert AttentionCase.of(q, bias, k=k, v=v, mask=mask[0, 0], dropout=0.1) == AttentionCase(
        "cpu", torch.float64, 6, 2, 4, mask="shared", bias_learns=True, dropout=True
    )
    case = AttentionCase.of(q, bias, k=k, v=v.requires_grad_(), mask=mask)
    assert (case.mask, case.tokens_learn) == ("one a window", True)
    with torch.no_grad():
        case = AttentionCase.of(q, bias, v=v)
    assert not (case.bias_learns or case.tokens_learn)


def test_what_takes_anything_comes_last():
    assert OBSTACLES[AUTO[-1]](on(device="meta", dtype=torch.float64, compiled=True)) is None
    assert set(AUTO) <= set(OBSTACLES)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"device": "mps"}, "no gradient for a bias"),
        ({"device": "meta"}, "no kernels"),
        ({"compiled": True}, "for every window"),
        ({"transformed": True}, "torch.func hides"),
        ({"tokens_learn": False}, "torch#148476"),
        ({"dtype": torch.float64}, "not float64"),
        ({"channels": 4}, "a multiple of 8 channels in float16, got 4"),
        ({"channels": 6, "dtype": torch.float32}, "a multiple of 4 channels in float32, got 6"),
    ],
)
def test_sdpa_says_what_stands_in_its_way(changes, part):
    case = on(**changes)
    assert part in OBSTACLES["sdpa"](case)
    assert choose(case) == "reference"


def test_on_cuda_a_bias_learns_with_sdpa():
    assert choose(TRAINING) == "sdpa"
    assert choose(on(channels=4, dtype=torch.float32)) == "sdpa"
    assert choose(on(bias_learns=False, tokens_learn=False, compiled=True)) == "sdpa"


@pytest.mark.parametrize(("capability", "name"), [((7, 5), "reference"), ((8, 0), "sdpa")])
def test_bfloat16_wants_a_card_that_has_it(monkeypatch, capability, name):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert choose(on(dtype=torch.bfloat16)) == name
    assert choose(TRAINING) == "sdpa"


def test_choosing_reads_all_arguments(monkeypatch):
    seen = []
    monkeypatch.setitem(OBSTACLES, AUTO[0], seen.append)
    q = torch.randn(5, 2, 6, 4)
    mask, bias = torch.ones(6, 6, dtype=torch.bool), torch.zeros(2, 6, 6)
    choose_backend(q, bias, k=q, v=q.clone().requires_grad_(), mask=mask, dropout=0.5)
    assert seen == [
        AttentionCase("cpu", torch.float32, 6, 2, 4, "shared", tokens_learn=True, dropout=True)
    ]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"device": "cpu"}, "not on cpu"),
        ({"compiled": True}, "not for torch's compiler"),
        ({"transformed": True}, "not for torch.func"),
        ({"mask": "one a window"}, "one mask for all windows"),
        ({"dropout": True}, "no dropout"),
        ({"dtype": torch.float64}, "not float64"),
        ({"tokens": 289}, "got 289 and 32"),
        ({"channels": 65}, "got 49 and 65"),
    ],
)
def test_triton_says_what_stands_in_its_way(monkeypatch, changes, part):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert OBSTACLES["triton"](TRAINING) is None
    assert part in OBSTACLES["triton"](on(**changes))


def test_triton_wants_to_be_installed_and_a_newer_card(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install triton" in OBSTACLES["triton"](TRAINING)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 5))
    assert "8.0 and later" in OBSTACLES["triton"](TRAINING)


def test_triton_computes_on_the_cpu_for_its_interpreter_alone(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert OBSTACLES["triton"](on(device="cpu")) is None
    assert "mps" in OBSTACLES["triton"](on(device="mps"))


def test_a_preferred_backend_is_taken_where_it_can_run_until_the_block_ends():
    inference = on(bias_learns=False)
    with prefer_attention("reference"):
        assert choose(inference) == preferred_attention() == "reference"
        with prefer_attention("sdpa"):
            assert choose(inference) == "sdpa"
            assert choose(on(device="meta")) == "reference"
        assert choose(inference) == "reference"
    assert choose(inference) == "sdpa"
    assert preferred_attention() is None


def test_the_choice_returns_to_normal_after_an_error():
    with pytest.raises(KeyError), prefer_attention("reference"):
        raise KeyError
    assert choose(TRAINING) == "sdpa"


def test_only_a_backend_can_be_preferred():
    with pytest.raises(ValueError, match=r"backend must be one of .* got 'auto'"):
        prefer_attention("auto").__enter__()
