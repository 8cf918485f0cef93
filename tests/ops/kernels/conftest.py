"""The kernels for each kind of processor, one after the other."""

import importlib

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "kernels",
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[*HealthCheck],
)


@pytest.fixture(params=["avx512", "avx2"])
def level(request, monkeypatch):
    """Those of one level, where they were compiled and this processor can run them."""
    loading = importlib.import_module("swin_mm.ops.kernels.library")
    capability = torch.backends.cpu.get_cpu_capability()
    if request.param not in loading._LEVELS.get(capability, ()):
        pytest.skip(f"torch finds {capability} here, no {request.param}")
    file = loading._file(request.param)
    if file is None:
        pytest.skip(f"the kernels for {request.param} were not compiled")
    found, why = loading._open(file)
    assert why is None
    monkeypatch.setattr(loading, "_load", lambda: (found, None))
    return request.param
