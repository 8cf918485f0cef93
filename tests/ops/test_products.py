import platform

import pytest
import torch
import torch.nn.functional as F
from random_weights import worst_difference

from swin_mm.ops import products
from swin_mm.ops.products import asked_dtype, has_half_products, multiply, product_dtype

CPU, CARD = torch.device("cpu"), torch.device("cuda")
HALVES = [torch.bfloat16, torch.float16]


@pytest.fixture
def slow(half_products):
    """A processor without instructions for half precision."""
    half_products(False)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("dtype", HALVES)
def test_half_precision_is_multiplied_in_float32_where_it_is_slow(dtype):
    assert product_dtype(dtype, CPU) == torch.float32
    assert product_dtype(dtype, CARD) == dtype


@pytest.mark.parametrize("dtype", HALVES)
def test_and_in_itself_where_it_is_not(dtype, half_products):
    half_products(True)
    assert product_dtype(dtype, CPU) == dtype


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_other_dtypes_stay(dtype):
    assert product_dtype(dtype, CPU) == dtype


def test_a_product_is_asked_for_by_autocast_or_by_what_it_is_of():
    assert asked_dtype(torch.ones(1).half()) == torch.float16
    with torch.autocast("cpu", torch.bfloat16):
        assert asked_dtype(torch.ones(1)) == torch.bfloat16
        assert asked_dtype(torch.ones(1).double()) == torch.float64


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("mode", ["pure", "autocast"])
def test_a_product_in_float32_is_rounded_once(mode):
    x, weight, bias = torch.randn(50, 300), torch.randn(70, 300), torch.randn(70)
    if mode == "pure":
        x, weight, bias = (t.bfloat16() for t in (x, weight, bias))
    with torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
        found = multiply(F.linear, x, weight, bias)
    exact = F.linear(x.double(), weight.double(), bias.double())
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=1e-4)


@pytest.mark.usefixtures("slow")
def test_gradients_come_in_the_dtypes_of_what_they_are_of():
    x, weight = torch.randn(5, 6).bfloat16().requires_grad_(), torch.randn(4, 6).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found = multiply(F.linear, x, weight, None)
    found.sum().backward()
    assert (x.grad.dtype, weight.grad.dtype) == (torch.bfloat16, torch.float32)
    assert worst_difference(weight.grad, x.sum(0).float().expand(4, 6)) < 1e-2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="supposed of other processors")
@pytest.mark.parametrize("dtype", HALVES)
def test_without_onednn_there_are_no_fast_products(dtype):
    with torch.backends.mkldnn.flags(enabled=False):
        assert not has_half_products(dtype)


def test_other_processors_are_supposed_to_have_them(monkeypatch):
    monkeypatch.setattr(products, "_IS_X86", False)
    assert has_half_products(torch.bfloat16)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="supposed of other processors")
def test_torch_says_whether_this_processor_has_them():
    supported = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    assert has_half_products(torch.bfloat16) == supported
    assert product_dtype(torch.bfloat16, CPU) == (torch.bfloat16 if supported else torch.float32)
