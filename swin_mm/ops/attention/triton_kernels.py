"""The kernels of :mod:`swin_mm.ops.attention.triton_backend`, forward and backward.

A window is small, at most 256 tokens, so each program has all keys of a window before it at once:
its softmax is a plain one. What is added to the scores, bias and mask, is the same for all windows
of a head. So a program keeps one head and one block of queries (or of keys), reads that once, and
goes through some windows one after the other.

Names and shapes: ``queries`` and ``keys`` are positions in a window, (QUERIES,) and (KEYS,), powers
of two that may reach beyond its N tokens; ``channels`` are those of a head, (CHANNELS,), likewise.
Scores are (QUERIES, KEYS), in float32 whatever the dtype. Tensors made here have heads inside
tokens, (windows, N, nH, d).
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _added(bias, mask, head, queries, keys, tokens, HAS_BIAS: tl.constexpr, HAS_MASK: tl.constexpr):
    """Read what is added to scores: the bias, and -inf where a key is hidden or not there.

    Queries beyond the window see every key: nothing of them is kept, but all must stay finite.
    One of ``queries`` and ``keys`` is a column and the other a row, and the result is laid out so.
    """
    there = (queries < tokens) & (keys < tokens)
    at = queries * tokens + keys
    added = tl.where(keys < tokens, 0.0, float("-inf")) + queries * 0.0
    if HAS_BIAS:
        added += tl.load(bias + head * tokens * tokens + at, there, 0.0).to(tl.float32)
    if HAS_MASK:
        added = tl.where(tl.load(mask + at, there, 1) != 0, added, float("-inf"))
    return added


@triton.jit
def _product(a, b, PRECISION: tl.constexpr):
    """Multiply matrices, summing in float32.

    Triton's interpreter multiplies the bits of bfloat16 as if they were whole numbers; widened
    first, it gives the same product.
    """
    if PRECISION == "interpreted":
        return tl.dot(a.to(tl.float32), b.to(tl.float32))
    else:
        return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def _places(window, head, rows, channels, by_window, by_head, by_token):
    """Say where a window's tokens of one head are, (rows, CHANNELS); channels are neighbours."""
    return window * by_window + head * by_head + rows[:, None] * by_token + channels[None, :]


@triton.jit
def _own(window, head, rows, channels, tokens, width):
    """Say where they are in a tensor made here."""
    heads = tl.num_programs(1)
    return ((window * tokens + rows[:, None]) * heads + head) * width + channels[None, :]


@triton.jit(do_not_specialize=["windows", "each", "tokens"])
def forward(
    q, k, v, bias, mask, out, scale, windows, each, tokens, width,
    qw, qh, qn, kw, kh, kn, vw, vh, vn,
    HAS_BIAS: tl.constexpr, HAS_MASK: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr, CHANNELS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Attend: a program for some windows, a head and a block of queries."""
    head = tl.program_id(1)
    queries = tl.program_id(2) * QUERIES + tl.arange(0, QUERIES)
    keys, channels = tl.arange(0, KEYS), tl.arange(0, CHANNELS)
    added = _added(bias, mask, head, queries[:, None], keys[None, :], tokens, HAS_BIAS, HAS_MASK)
    in_q = (queries[:, None] < tokens) & (channels[None, :] < width)
    in_k = (keys[:, None] < tokens) & (channels[None, :] < width)
    first = tl.program_id(0).to(tl.int64) * each
    for window in range(first, tl.minimum(first + each, windows)):
        a = tl.load(q + _places(window, head, queries, channels, qw, qh, qn), in_q, 0.0)
        b = tl.load(k + _places(window, head, keys, channels, kw, kh, kn), in_k, 0.0)
        c = tl.load(v + _places(window, head, keys, channels, vw, vh, vn), in_k, 0.0)
        scores = _product(a, tl.trans(b), PRECISION) * scale + added
        weights = tl.exp(scores - tl.max(scores, 1)[:, None])
        mixed = _product(weights.to(c.dtype), c, PRECISION)
        mixed = mixed / tl.sum(weights, 1)[:, None]
        place = out + _own(window, head, queries, channels, tokens, width)
        tl.store(place, mixed.to(c.dtype), in_q)


@triton.jit(do_not_specialize=["windows", "each", "tokens"])
def backward_by_queries(
    q, k, v, bias, mask, grad, grad_q, grad_bias, sums, drops, scale, windows, each, tokens, width,
    qw, qh, qn, kw, kh, kn, vw, vh, vn, gw, gh, gn,
    HAS_BIAS: tl.constexpr, HAS_MASK: tl.constexpr, LEARNS: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr, CHANNELS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of queries and, added up over the program's windows, of the bias.

    For the kernel below it leaves each query's logarithm of the sum of exponentials (``sums``) and
    the mean of the weights' gradients (``drops``), (windows, nH, N) each. ``grad_bias`` is
    (programs, nH, N, N), to be summed; ``grad`` is that of the result.
    """
    head = tl.program_id(1)
    queries = tl.program_id(2) * QUERIES + tl.arange(0, QUERIES)
    keys, channels = tl.arange(0, KEYS), tl.arange(0, CHANNELS)
    added = _added(bias, mask, head, queries[:, None], keys[None, :], tokens, HAS_BIAS, HAS_MASK)
    in_q = (queries[:, None] < tokens) & (channels[None, :] < width)
    in_k = (keys[:, None] < tokens) & (channels[None, :] < width)
    total = tl.zeros((QUERIES, KEYS), tl.float32)
    first = tl.program_id(0).to(tl.int64) * each
    for window in range(first, tl.minimum(first + each, windows)):
        a = tl.load(q + _places(window, head, queries, channels, qw, qh, qn), in_q, 0.0)
        b = tl.load(k + _places(window, head, keys, channels, kw, kh, kn), in_k, 0.0)
        c = tl.load(v + _places(window, head, keys, channels, vw, vh, vn), in_k, 0.0)
        g = tl.load(grad + _places(window, head, queries, channels, gw, gh, gn), in_q, 0.0)
        scores = _product(a, tl.trans(b), PRECISION) * scale + added
        largest = tl.max(scores, 1)
        weights = tl.exp(scores - largest[:, None])
        sum_ = tl.sum(weights, 1)
        weights = weights / sum_[:, None]
        of_weights = _product(g, tl.trans(c), PRECISION)
        drop = tl.sum(weights * of_weights, 1)
        of_scores = weights * (of_weights - drop[:, None])
        if LEARNS:
            total += of_scores
        of_q = _product(of_scores.to(b.dtype), b, PRECISION) * scale
        tl.store(
            grad_q + _own(window, head, queries, channels, tokens, width), of_q.to(a.dtype), in_q
        )
        row = (window * tl.num_programs(1) + head) * tokens + queries
        tl.store(sums + row, largest + tl.log(sum_), queries < tokens)
        tl.store(drops + row, drop, queries < tokens)
    if LEARNS:
        at = (tl.program_id(0) * tl.num_programs(1) + head) * tokens * tokens
        at += queries[:, None] * tokens + keys[None, :]
        tl.store(grad_bias + at, total, (queries[:, None] < tokens) & (keys[None, :] < tokens))


@triton.jit(do_not_specialize=["windows", "each", "tokens"])
def backward_by_keys(
    q, k, v, bias, mask, grad, grad_k, grad_v, sums, drops, scale, windows, each, tokens, width,
    qw, qh, qn, kw, kh, kn, vw, vh, vn, gw, gh, gn,
    HAS_BIAS: tl.constexpr, HAS_MASK: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr, CHANNELS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of keys and values: all queries before a block of keys.

    Scores stand on their side here, (KEYS, QUERIES).
    """
    head = tl.program_id(1)
    keys = tl.program_id(2) * KEYS + tl.arange(0, KEYS)
    queries, channels = tl.arange(0, QUERIES), tl.arange(0, CHANNELS)
    added = _added(bias, mask, head, queries[None, :], keys[:, None], tokens, HAS_BIAS, HAS_MASK)
    in_q = (queries[:, None] < tokens) & (channels[None, :] < width)
    in_k = (keys[:, None] < tokens) & (channels[None, :] < width)
    first = tl.program_id(0).to(tl.int64) * each
    for window in range(first, tl.minimum(first + each, windows)):
        a = tl.load(q + _places(window, head, queries, channels, qw, qh, qn), in_q, 0.0)
        b = tl.load(k + _places(window, head, keys, channels, kw, kh, kn), in_k, 0.0)
        c = tl.load(v + _places(window, head, keys, channels, vw, vh, vn), in_k, 0.0)
        g = tl.load(grad + _places(window, head, queries, channels, gw, gh, gn), in_q, 0.0)
        row = (window * tl.num_programs(1) + head) * tokens + queries
        sum_ = tl.load(sums + row, queries < tokens, 0.0)
        drop = tl.load(drops + row, queries < tokens, 0.0)
        scores = _product(b, tl.trans(a), PRECISION) * scale + added
        weights = tl.exp(scores - sum_[None, :])
        of_v = _product(weights.to(g.dtype), g, PRECISION)
        of_weights = _product(c, tl.trans(g), PRECISION)
        of_scores = weights * (of_weights - drop[None, :])
        of_k = _product(of_scores.to(a.dtype), a, PRECISION) * scale
        place = _own(window, head, keys, channels, tokens, width)
        tl.store(grad_v + place, of_v.to(c.dtype), in_k)
        tl.store(grad_k + place, of_k.to(b.dtype), in_k)
