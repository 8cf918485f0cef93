import io

import pytest
import torch
from rich.console import Console

from swin_mm.export import ExportError
from swin_mm.export.compare import TOLERANCE, compare, sizes_to_compare, sizes_to_trace


@pytest.fixture(scope="module")
def network(build):
    return build(depths=(1, 1), window_size=(7, 4))


def compared(network, change, **options):
    def run(x):
        with torch.no_grad():
            return [change(out) for out in network(x)]

    sizes = sizes_to_compare(network)
    return compare(network, run, runtime="a runtime 1.0", sizes=sizes, **options)


def test_three_sizes_are_compared_at_none_of_which_it_was_traced(network):
    sizes = sizes_to_compare(network)
    assert len(set(sizes)) == 3 and sizes_to_trace(network) not in sizes
    assert [size[0] for size in sizes] == [1, 2, 3]
    assert sizes[0][1:] == (28, 16)  # one window of 7x4 patches of 4 px


def test_windows_of_every_stage_are_told(network):
    rows = compared(network, lambda out: out).rows
    assert rows[0].windows == ((1, 1), (1, 1))
    assert rows[1].size == (2, 61, 143) and rows[1].windows == ((3, 9), (2, 5))


@pytest.mark.parametrize(
    ("change", "is_within"),
    [
        (lambda out: out, True),
        (lambda out: out + 0.5 * TOLERANCE * out.abs().max(), True),
        (lambda out: out + 1.5 * TOLERANCE * out.abs().max(), False),
        (lambda out: out * torch.nan, False),
        (lambda out: out[..., :-1], False),
    ],
    ids=["equal", "near", "far", "not a number", "another shape"],
)
def test_near_is_near_by_the_largest_value(network, change, is_within):
    assert compared(network, change).is_within is is_within


def test_pixels_are_not_normalised_pictures(network):
    seen = []

    @torch.no_grad()
    def run(x):
        seen.append(x)
        return network(x)

    sizes = [(1, 30, 30)]
    for from_pixels in (False, True):
        compare(network, run, runtime="", sizes=sizes, from_pixels=from_pixels)
    assert seen[0].min() < 0 and seen[0].max() < 10
    assert seen[1].min() >= 0 and 200 < seen[1].max() <= 255


def test_the_table_says_what_is_wrong_and_where(network):
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(compared(network, lambda out: out * 2).table())
    told = console.export_text()
    assert "a runtime 1.0" in told
    assert "2 of 61x143" in told and "3x9 2x5" in told and "1.0e+00" in told and "wrong" in told


def test_a_size_that_the_network_itself_cannot_compute_is_told(network):
    with pytest.raises(ExportError, match="cannot compute 1 of 9999999x9999999 px"):
        compare(network, None, runtime="none", sizes=[(1, 9_999_999, 9_999_999)])


def test_what_a_runtime_says_in_brackets_is_shown(network):
    def fail(x):
        raise RuntimeError("[ONNXRuntimeError] : 6 : [/a/node] broke")

    comparison = compare(network, fail, runtime="none", sizes=[(1, 5, 5)])
    console = Console(file=io.StringIO(), width=200)
    console.print(comparison.table())
    assert "[ONNXRuntimeError] : 6 : [/a/node] broke" in console.file.getvalue()
