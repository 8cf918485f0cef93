"""The fast block and its written-out gradient equal the reference and autograd's."""

import pytest
import torch
from random_weights import worst_difference

from swin_mm.ops.block import (
    BlockWeights,
    GradientSums,
    LinearWeights,
    NormWeights,
    WindowBatch,
    block_backward,
    block_forward,
    fast,
    reference_block,
)

C, HEADS, N, WINDOWS = 8, 2, 6, 5


def weights(*, post_norm=False, cosine=False, biases=True, dtype=torch.float64):
    def new(*shape):
        return torch.randn(shape, dtype=dtype).requires_grad_()

    def linear(out, given):
        return LinearWeights(new(out, given), new(out) if biases else None)

    def norm():
        return NormWeights(new(C), new(C), 1e-5)

    return BlockWeights(
        norm1=norm(),
        qkv=linear(3 * C, C),
        proj=linear(C, C),
        norm2=norm(),
        fc1=linear(16, C),
        fc2=linear(C, 16),
        bias=new(HEADS, N, N),
        cosine_scale=new(HEADS, 1, 1) if cosine else None,
        scale=1.0 if cosine else 0.7,
        post_norm=post_norm,
    )


def windows(*, padded=False, kept=False):
    mask = torch.eye(N).bool() | (torch.rand(N, N) > 0.5)
    is_padding = torch.zeros(WINDOWS * N, dtype=torch.bool)
    if padded:
        is_padding[[2, 3, 11, 29]] = True
    real = (~is_padding).nonzero()[:, 0]
    return WindowBatch(
        N,
        [(3, None), (2, mask)],
        padding=is_padding.nonzero()[:, 0] if padded else None,
        real=real if padded else None,
        kept=tuple(torch.rand(2, len(real), 1).double()) if kept else None,
    )


CASES = [
    {},
    {"post_norm": True, "cosine": True},
    {"post_norm": True},
    {"cosine": True},
    {"biases": False},
]


@pytest.mark.parametrize("around", [{}, {"padded": True}, {"padded": True, "kept": True}], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_output_and_every_gradient_are_those_of_the_reference(case, around):
    learned, batch = weights(**case), windows(**around)
    x = torch.randn(WINDOWS * N, C).double().requires_grad_()
    out = reference_block(x, learned, windows=batch, dtype=torch.float64)
    above = torch.randn_like(out)
    tensors = [tensor for tensor in learned.tensors() if tensor is not None]
    wanted = torch.autograd.grad(out, [x, *tensors], above)

    plain = learned.with_tensors([None if t is None else t.detach() for t in learned.tensors()])
    run = {"weights": plain, "windows": batch, "dtype": torch.float64}
    found, kept = block_forward(x.detach().clone(), **run, keep=True)
    alone, nothing = block_forward(x.detach().clone(), **run, keep=False)
    sums = GradientSums(plain, [True] * len(plain.tensors()))
    below = block_backward(
        above.clone(), x.detach(), kept=kept, weights=plain, windows=batch, sums=sums
    )
    assert nothing is None
    assert worst_difference(found, out.detach()) < 1e-12
    assert worst_difference(alone, out.detach()) < 1e-12
    assert worst_difference(below, batch.take_real(wanted[0])) < 1e-10
    results = [t for t in sums.result(plain.tensors()) if t is not None]
    for ours, theirs in zip(results, wanted[1:], strict=True):
        assert float((ours - theirs).abs().max()) < 1e-10 * max(float(theirs.abs().max()), 1.0)


def test_sums_grow_by_every_chunk_and_only_where_they_are_asked_for():
    learned = weights(dtype=torch.float32)
    needed = [tensor is learned.fc1.weight for tensor in learned.tensors()]
    sums = GradientSums(learned, needed)
    gradient, x = torch.randn(7, 16), torch.randn(7, C)
    for _ in range(3):
        sums.add_linear(learned.fc1, gradient, x)
    result = sums.result(learned.tensors())
    assert [one is not None for one in result] == needed
    torch.testing.assert_close(result[needed.index(True)], 3 * gradient.t() @ x)


def test_half_precision_gradients_are_summed_in_float32():
    learned = weights(dtype=torch.float32).computing_in(torch.bfloat16)
    sums = GradientSums(learned, [True] * len(learned.tensors()))
    sums.add(learned.fc2.bias, torch.full((C,), 256.0, dtype=torch.bfloat16))
    for _ in range(100):
        sums.add(learned.fc2.bias, torch.ones(C, dtype=torch.bfloat16))
    place = next(i for i, t in enumerate(learned.tensors()) if t is learned.fc2.bias)
    assert sums.result([torch.empty(0)] * len(learned.tensors()))[place].tolist() == [356.0] * C


def test_weights_come_back_from_their_tensors():
    learned = weights(post_norm=True, cosine=True)
    again = learned.with_tensors(learned.tensors())
    assert all(a is b for a, b in zip(again.tensors(), learned.tensors(), strict=True))
    assert again.post_norm and again.scale == 1.0 and again.num_heads == HEADS


def test_linear_layers_alone_are_cast():
    learned = weights(dtype=torch.float32).computing_in(torch.bfloat16)
    assert learned.qkv.weight.dtype == learned.fc2.bias.dtype == torch.bfloat16
    assert learned.norm1.weight.dtype == learned.bias.dtype == torch.float32


@pytest.mark.parametrize("usual", [False, True])
def test_the_usual_number_of_rows_takes_the_faster_product(usual, monkeypatch):
    if not fast._has_onednn():
        pytest.skip("this processor has no bfloat16 in oneDNN")
    layer = LinearWeights(torch.randn(6, 4).bfloat16(), torch.randn(6).bfloat16())
    x = torch.randn(5, 4).bfloat16()
    plain = torch.nn.functional.linear(x, *layer)
    monkeypatch.setattr(fast.F, "linear", lambda *_: plain + 1)
    assert torch.equal(fast.linear(x, layer, usual=usual), plain if usual else plain + 1)
