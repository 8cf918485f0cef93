import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def gpu():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("gpu")


@pytest.fixture(scope="module")
def contenders(gpu):
    return sys.modules["gpu_contenders"]


def job(contenders, **changes):
    given = dict(
        variant="small", shape=(1, 24, 24), precision="fp32", task="inference", device="cpu"
    )
    return contenders.Job(**given | changes)


def test_the_script_goes_through_all_it_has_at_toy_sizes_on_the_cpu(tmp_path):
    run = subprocess.run(
        [BENCHMARKS / "gpu.sh", "--dry-run"],
        env={**os.environ, "PYTHON": sys.executable, "OUT": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert report["machine"] == "CPU, a dry run"
    ours = report["cells"]["training, small, 40x56 b1, bf16"]["auto"]
    assert ours["ms"] > 0 and ours["by ours"] == 1.0 and ours["rounds"] >= 3
    for backend in ("reference", "sdpa"):
        parity = report["cells"]["parity of attention, fp32"]["3 x 3"][backend]
        assert max(parity.values()) < 1e-6
    parity = report["cells"]["parity of Swin-T"]["reference, fp32"]
    assert max(parity.values()) < 1e-5
    assert "taken" in str(report["cells"]["report"]["fp32, training"])


def test_without_a_gpu_it_says_how_to_try(gpu, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(SystemExit):
        gpu.main()
    assert "benchmarks/gpu.sh --dry-run" in capsys.readouterr().err


def test_no_cell_begins_that_would_not_end_in_time_by_what_one_like_it_took(
    gpu, monkeypatch, tmp_path
):
    now = [0.0]
    monkeypatch.setattr(gpu.time, "perf_counter", lambda: now[0])

    def takes(seconds):
        def measure():
            now[0] += seconds
            return {"seconds": seconds}

        return measure

    cells = [
        ("first", "long", takes(40)),
        ("second", "long", takes(40)),
        ("third", "long", takes(40)),
        ("short", "other", takes(1)),
    ]
    report = {"cells": {}}
    gpu.run(iter(cells), report, out=tmp_path / "out.json", seconds=100, start=0.0)
    assert report["cells"] == {
        "first": {"seconds": 40},
        "second": {"seconds": 40},
        "third": {"skipped": "no time: 80 of 100 s spent"},
        "short": {"seconds": 1},
    }
    assert json.loads((tmp_path / "out.json").read_text()) == report
    assert report["seconds"] == 81


def test_a_cell_that_fails_is_told_and_the_next_one_runs(gpu, tmp_path):
    def fails():
        raise RuntimeError("out of memory\nand more")

    report = {"cells": {}}
    cells = [("a", "kind", fails), ("b", "kind", dict)]
    gpu.run(iter(cells), report, out=tmp_path / "out.json", seconds=1e9, start=0.0)
    assert report["cells"] == {"a": {"error": "RuntimeError: out of memory"}, "b": {}}


def test_the_plan_has_every_size_precision_and_task_and_the_most_worth_first(gpu):
    names = [name for name, *_ in gpu.plan("cuda", small=False)]
    assert len(set(names)) == len(names)
    assert len([name for name in names if name.startswith(("inference", "training"))]) == 3**3 * 2
    assert names.index("training, tiny, 224x224 b64, fp32") < names.index(
        "compiled inference, tiny, 800x1344 b2, bf16"
    )
    assert names[0].startswith("parity")
    assert names[-1] == "training, large, 224x224 b64, fp32"


def test_ratios_are_others_time_by_ours_and_who_fails_is_left_out(gpu, monkeypatch):
    def made(who, job):
        if who == "timm":
            raise ModuleNotFoundError("No module named 'timm'")
        return who

    found = {"auto": {"ms": 2.0}, "reference": {"ms": 3.0}}
    monkeypatch.setattr(gpu, "runner", made)
    monkeypatch.setattr(gpu, "in_turns", lambda runs, *_, **__: found)
    result = gpu.turns(gpu.Job("tiny", (1, 8, 8), "fp32", "inference", "cpu"), (*found, "timm"))
    assert result["reference"]["by ours"] == 1.5
    assert result["auto"]["by ours"] == 1.0
    assert result["timm"] == {"error": "ModuleNotFoundError: No module named 'timm'"}


def test_contenders_take_turns_and_whoever_begins_moves_on(contenders, monkeypatch):
    order = []
    monkeypatch.setattr(contenders, "milliseconds", lambda run, device: run() or float(len(order)))
    runs = {name: lambda name=name: order.append(name) for name in "abc"}
    found = contenders.in_turns(runs, "cpu", seconds=0.0)
    assert "".join(order) == "abc" + "abc" + "bca" + "cab"
    assert found["a"] == {"peak MB": None, "ms": 9.0, "min": 4.0, "max": 11.0, "rounds": 3}


def test_who_cannot_run_does_not_stop_the_others(contenders):
    def fails():
        raise torch.OutOfMemoryError("too large")

    found = contenders.in_turns({"a": fails, "b": lambda: None}, "cpu", seconds=0.0)
    assert found["a"] == {"error": "OutOfMemoryError: too large"}
    assert found["b"]["rounds"] == 3


def test_a_figure_bears_the_name_of_the_backend_that_computes(contenders, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    contenders.runner("reference", job(contenders))()
    with pytest.raises(ValueError, match="triton computes on CUDA, not on cpu"):
        contenders.runner("triton", job(contenders))


def test_a_training_step_leaves_no_gradient_behind_and_inference_makes_none(
    contenders, monkeypatch
):
    built = []
    real = contenders.build
    monkeypatch.setattr(contenders, "build", lambda *given: built.append(real(*given)) or built[-1])
    backward = []
    monkeypatch.setattr(torch.autograd, "backward", lambda *given: backward.append(given))
    for task in ("inference", "training"):
        contenders.runner("auto", job(contenders, task=task))()
    assert [net.training for net in built] == [False, True]
    assert len(backward) == 1
    assert all(parameter.grad is None for parameter in built[1].parameters())
