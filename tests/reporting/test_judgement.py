"""What is made of confusions and grades, whatever the task."""

import numpy as np
import pytest

from swin_mm.reporting.judgement import Confusion, Graded, choose


def confusion(counts: list[list[int]], *, background: bool = False) -> Confusion:
    names = [*"abcdefgh"[: len(counts)]]
    if background:
        names[-1] = "background"
    return Confusion(tuple(names), np.array(counts), "objects", background)


def test_shares_are_of_the_truth_and_a_row_without_any_is_empty() -> None:
    assert confusion([[3, 1], [0, 0]]).shares.tolist() == [[0.75, 0.25], [0.0, 0.0]]


def test_classes_beyond_the_most_frequent_share_a_row_and_a_column() -> None:
    whole = confusion([[5, 1, 0, 2], [0, 1, 1, 0], [0, 0, 9, 1], [1, 2, 3, 0]], background=True)
    small = whole.largest(1)
    assert small.names == ("c", "other classes", "background")
    assert small.counts.tolist() == [[9, 0, 1], [1, 7, 2], [3, 3, 0]]
    assert small.counts.sum() == whole.counts.sum()


def test_classes_that_nowhere_occur_are_left_out() -> None:
    counts = [[2, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert confusion(counts, background=True).largest(9).names == ("a", "background")
    assert confusion(counts).ranked() == [0, 2]


def test_the_strongest_confusions_are_of_two_classes() -> None:
    whole = confusion([[5, 1, 9], [4, 4, 0], [7, 0, 0]], background=True)
    assert whole.strongest(9) == [("b", "a", 4, 0.5), ("a", "b", 1, 1 / 15)]
    assert whole.strongest(1) == [("b", "a", 4, 0.5)]


GRADED = [Graded(number, measure=number / 10, content=1) for number in range(10)]


def test_a_third_each_is_worst_best_and_random() -> None:
    chosen = choose(GRADED, 6)
    assert [(reason, one.image) for reason, one in chosen[:4]] == [
        ("worst", 0),
        ("worst", 1),
        ("best", 9),
        ("best", 8),
    ]
    assert [reason for reason, _ in chosen[4:]] == ["random", "random"]
    assert len({one.image for _, one in chosen}) == 6
    assert chosen == choose(GRADED[::-1], 6)


@pytest.mark.parametrize(
    ("count", "reasons"), [(0, []), (1, ["worst"]), (2, ["worst", "best"]), (99, 10)]
)
def test_as_many_are_chosen_as_there_are(count: int, reasons: list | int) -> None:
    chosen = choose(GRADED, count)
    assert reasons in ([reason for reason, _ in chosen], len(chosen))
    assert len({one.image for _, one in chosen}) == len(chosen)


def test_of_pictures_equally_bad_those_with_more_to_find_come_first() -> None:
    graded = [Graded(1, 0.0, 1), Graded(2, 0.0, 5), Graded(3, 1.0, 1), Graded(4, 1.0, 5)]
    assert [one.image for _, one in choose(graded, 2)] == [2, 4]
