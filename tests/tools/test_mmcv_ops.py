import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "mmcv_ops.py"


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("mmcv_ops", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Stand in for torch on a machine with CUDA, whose nvcc says a release."""

    def pretend(version="2.13.0+cu130", cuda="13.0", devices=((9, 0),), nvcc="13.0"):
        extension = ModuleType("torch.utils.cpp_extension")
        extension.CUDA_HOME = str(tmp_path)
        (tmp_path / "bin").mkdir(exist_ok=True)
        if nvcc:
            (tmp_path / "bin" / "nvcc").write_text(f"#!/bin/sh\necho release {nvcc}, V1\n")
            (tmp_path / "bin" / "nvcc").chmod(0o755)
        torch = SimpleNamespace(
            __version__=version,
            version=SimpleNamespace(cuda=cuda),
            cuda=SimpleNamespace(
                is_available=lambda: bool(devices),
                device_count=lambda: len(devices),
                get_device_capability=lambda i: devices[i],
            ),
        )
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "torch.utils.cpp_extension", extension)
        monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
        monkeypatch.delenv("FORCE_CUDA", raising=False)

    return pretend


def test_operators_are_compiled_for_a_gpu_where_torch_and_nvcc_agree(tool, machine):
    machine()
    assert tool.cpu_reason() is None
    machine(nvcc="13.1")  # a minor version apart is compatible
    assert tool.cpu_reason() is None


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        (dict(cuda=None, version="2.13.0+cpu"), "torch 2.13.0+cpu is not a CUDA build"),
        (dict(devices=()), "torch finds no CUDA device"),
        (dict(nvcc=None), "no nvcc"),
        (dict(nvcc="12.8"), "built with CUDA 13.0, but"),
    ],
)
def test_the_reason_for_the_cpu_is_named(tool, machine, difference, reason):
    machine(**difference)
    assert reason in tool.cpu_reason()


def test_a_gpu_to_come_can_be_compiled_for(tool, machine, monkeypatch):
    machine(devices=())
    monkeypatch.setenv("FORCE_CUDA", "1")
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0;9.0")
    assert tool.cpu_reason() is None
    assert tool.build_key("2.3.6", on_cpu=False).endswith("_cuda13.0-8.0-9.0")


def test_wheels_of_different_machines_have_different_names(tool, machine):
    names = []
    for difference in (
        {},
        dict(version="2.14.0+cu130"),
        dict(cuda="12.8"),
        dict(devices=((8, 0),)),
        dict(devices=((8, 0), (9, 0))),
    ):
        machine(**difference)
        names += [tool.build_key("2.3.6", on_cpu=False), tool.build_key("2.3.7", on_cpu=False)]
    names.append(tool.build_key("2.3.6", on_cpu=True))
    assert len(set(names)) == len(names) and not any("/" in name for name in names)
    assert all(sys.implementation.cache_tag in name for name in names)


def test_only_a_whole_wheel_with_operators_is_intact(tool, tmp_path):
    wheel = tmp_path / "a.whl"
    assert not tool.intact(wheel)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("mmcv/__init__.py", "")
    assert not tool.intact(wheel)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("mmcv/_ext.so", b"machine code")
    assert tool.intact(wheel)
    whole = wheel.read_bytes()
    for broken in (whole[:-30], whole.replace(b"machine code", b"machine bode"), b""):
        wheel.write_bytes(broken)
        assert not tool.intact(wheel)


def test_the_operators_of_this_environment_run(tool):
    assert tool.check().startswith("training uses the ")
