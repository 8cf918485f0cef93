import pytest
import torch

from swin_mm.ops.views import _WithPlainGradient, join_axes, split_axes


def shuffle(x, batch, rows, columns):
    x = split_axes(x, (batch, rows, 2, columns, 3)).transpose(2, 3)
    return join_axes(x, (batch, rows * columns * 6))


@pytest.fixture
def traced(monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)


def test_traced_and_eager_views_hold_the_same_numbers_and_gradients(monkeypatch):
    results = []
    for traced in (False, True):
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda traced=traced: traced)
        x = torch.arange(48.0).view(2, 24).requires_grad_()
        out = shuffle(x, 2, 2, 2)
        (out * torch.arange(48.0).view(2, 24)).sum().backward()
        results.append((out, x.grad))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_a_traced_join_copies_even_what_is_contiguous(traced):
    x = torch.zeros(4, 6)
    assert join_axes(x, (24,)).data_ptr() != x.data_ptr()


def test_no_function_of_ours_is_traced_where_no_gradient_is_due(traced, monkeypatch):
    calls = []
    monkeypatch.setattr(_WithPlainGradient, "apply", lambda x: calls.append(x) or x)
    with torch.no_grad():
        split_axes(torch.zeros(4, 6, requires_grad=True), (4, 2, 3))
    assert not calls
    split_axes(torch.zeros(4, 6, requires_grad=True), (4, 2, 3))
    assert len(calls) == 1
