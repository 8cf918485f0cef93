"""Devices and processes."""

import os
import stat
import sys
from pathlib import Path

import mmengine.device.utils
import pytest
import torch
from mmengine.config import Config

from swin_mm.engine.errors import UsageError
from swin_mm.engine.launch import (
    Device,
    Place,
    choose_device,
    find_place,
    needs_operators,
    take_place,
    use_device,
)
from swin_mm.engine.notes import Notes

CPU = Device("cpu", "for the test")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give back what a test changes, and start without a launcher's variables."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(mmengine.device.utils, "DEVICE", "cpu")
    for name in list(os.environ):
        if name.startswith(("SLURM", "OMPI", "MASTER", "RANK", "WORLD", "LOCAL")):
            del os.environ[name]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that says it has a GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", lambda index: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "GPU of the test")
    real = torch.tensor
    monkeypatch.setattr(torch, "tensor", lambda data, device=None: real(data))


def test_detectors_need_operators_and_upernet_does_not(detector: Config, segmentor: Config) -> None:
    assert needs_operators(detector)
    assert not needs_operators(segmentor)
    segmentor.model.decode_head.pixel_decoder = {"type": "mmdet.MSDeformAttnPixelDecoder"}
    assert needs_operators(segmentor)


@pytest.mark.usefixtures("gpu")
def test_a_gpu_is_used_where_the_operators_run_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcv.ops.nms", lambda *_: None)
    assert choose_device(operators=True) == Device("cuda", "GPU of the test")


@pytest.mark.usefixtures("gpu")
def test_operators_built_without_cuda_mean_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def nms(*_: object) -> None:
        raise RuntimeError("nms_impl: implementation for device cuda:0 not found.\nmore")

    monkeypatch.setattr("mmcv.ops.nms", nms)
    chosen = choose_device(operators=True)
    assert chosen.name == "cpu"
    assert chosen.reason.endswith("implementation for device cuda:0 not found.")
    assert choose_device(operators=False).name == "cuda"


@pytest.mark.usefixtures("gpu")
def test_a_device_that_is_asked_for_is_taken_and_no_other_is_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, current = [], []
    monkeypatch.setattr("mmcv.ops.nms", lambda *_: made.append("nms"))
    monkeypatch.setattr(torch, "empty", lambda _, device: made.append(device))
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    assert choose_device(True, "cpu") == Device("cpu", "as asked")
    assert choose_device(True, "cuda:1").name == "cuda:1"
    assert (made, current) == (["cpu", "cuda:1"], ["cuda:1"])


def test_a_detector_without_operators_is_told_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mmcv.ops", None)
    with pytest.raises(UsageError, match=r"compiled operators[\s\S]*make setup"):
        choose_device(operators=True)


def test_on_the_cpu_sync_bn_becomes_bn_and_both_are_said(
    segmentor: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    use_device(CPU, segmentor, notes)
    assert segmentor.model.decode_head.norm_cfg.type == "BN"
    assert segmentor.model.auxiliary_head.norm_cfg.type == "BN"
    assert capsys.readouterr().out == (
        "Device: cpu (for the test)\nSyncBN needs a GPU: BN in its place\n"
    )


def test_on_a_gpu_sync_bn_stays(segmentor: Config, notes: Notes) -> None:
    use_device(Device("cuda", "GPU"), segmentor, notes)
    assert segmentor.model.decode_head.norm_cfg.type == "SyncBN"


def test_a_gpu_that_cannot_be_used_is_hidden_from_mmengine(detector: Config, notes: Notes) -> None:
    mmengine.device.utils.DEVICE = "cuda"
    use_device(CPU, detector, notes)
    assert mmengine.device.get_device() == "cpu"


def test_torchruns_variables_are_read() -> None:
    os.environ.update(RANK="3", WORLD_SIZE="4", LOCAL_RANK="1")
    os.environ.update(MASTER_ADDR="one", MASTER_PORT="1234")
    assert find_place("pytorch") == Place(3, 4, 1, "one", "1234")


def test_slurms_first_node_is_the_address(tmp_path: Path) -> None:
    stub = tmp_path / "scontrol"
    stub.write_text('#!/bin/sh\n[ "$*" = "show hostnames n[1-2]" ] && printf "n1\\nn2\\n"\n')
    stub.chmod(stub.stat().st_mode | stat.S_IEXEC)
    os.environ["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    os.environ.update(SLURM_PROCID="2", SLURM_NTASKS="4", SLURM_LOCALID="0")
    os.environ.update(SLURM_JOB_NODELIST="n[1-2]", SLURM_JOB_ID="123456")
    assert find_place("slurm") == Place(2, 4, 0, "n1", "23456")


def test_slurm_without_scontrol_asks_for_the_address() -> None:
    os.environ.update(SLURM_PROCID="0", SLURM_NTASKS="2", SLURM_LOCALID="0")
    os.environ["SLURM_JOB_NODELIST"] = "n[1-2]"
    os.environ["PATH"] = ""
    with pytest.raises(UsageError, match="Set MASTER_ADDR"):
        find_place("slurm")


def test_mpi_needs_the_address_of_the_first_machine() -> None:
    names = ("RANK", "SIZE", "LOCAL_RANK")
    os.environ.update({f"OMPI_COMM_WORLD_{name}": "2" for name in names})
    with pytest.raises(UsageError, match="MASTER_ADDR"):
        find_place("mpi")
    os.environ["MASTER_ADDR"] = "one"
    assert find_place("mpi") == Place(2, 2, 2, "one", "29500")


@pytest.mark.parametrize(
    ("launcher", "start"), [("pytorch", "torchrun"), ("slurm", "srun"), ("mpi", "mpirun")]
)
def test_a_launcher_that_did_not_launch_is_shown(launcher: str, start: str) -> None:
    with pytest.raises(UsageError, match=f"Start with:\n  {start} "):
        find_place(launcher)


def test_a_process_takes_its_place_before_it_looks_for_a_gpu() -> None:
    os.environ.update(SLURM_PROCID="2", SLURM_NTASKS="4", SLURM_LOCALID="1", MASTER_ADDR="one")
    take_place("slurm")
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    assert [os.environ[name] for name in names] == ["2", "4", "1", "one", "29500"]


def test_processes_of_torchrun_without_its_launcher_are_refused() -> None:
    os.environ["WORLD_SIZE"] = "2"
    with pytest.raises(UsageError, match="add --launcher pytorch"):
        take_place("none")
