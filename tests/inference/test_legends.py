import numpy as np

from swin_mm.inference import Classes
from swin_mm.inference.legends import legend_below, legend_of

COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255))
CLASSES = Classes(("cat", "dog", "newt"), COLOURS, (0, 1, 2))


def shows(page, label):
    return (page == COLOURS[label]).all(-1).any()


def test_the_legend_of_all_classes_shows_those_asked_for():
    page = legend_of(CLASSES, [0, 2])
    assert [shows(page, label) for label in range(3)] == [True, False, True]


def test_the_legend_of_few_classes_is_no_wider_than_they_are():
    few, one, many = (legend_of(CLASSES, [0] * number) for number in (2, 1, 100))
    assert one.shape[1] < few.shape[1] < many.shape[1] == 1400
    assert few.shape[0] == one.shape[0] < many.shape[0]


def test_the_legend_below_a_picture_shows_what_occurs_in_its_width():
    labels = np.zeros((600, 200), np.uint8)
    labels[-1, -1] = 2  # less than a thousandth
    labels[:300] = 255  # of no class that is kept
    page = legend_below(labels, CLASSES, 200)
    assert page.shape[1] == 200
    assert [shows(page, label) for label in range(3)] == [True, False, False]


def test_a_picture_without_classes_has_an_empty_legend():
    page = legend_below(np.full((4, 4), 255, np.uint8), CLASSES, 4)
    assert page.shape[1] == 4 and (page == 255).all()


def test_a_name_with_two_dollars_is_no_formula():
    named = Classes(("$\\frac$", "dog", "newt"), COLOURS, (0, 1, 2))
    assert shows(legend_of(named, [0]), 0)


def test_a_long_name_is_cut_and_one_of_two_lines_takes_one():
    named = Classes(("x" * 59 + "y", "a\nb", "newt"), COLOURS, (0, 1, 2))
    plain = Classes(("x" * 59 + "y", "a b", "newt"), COLOURS, (0, 1, 2))
    assert np.array_equal(legend_of(named, [0, 1]), legend_of(plain, [0, 1]))
    longer = Classes(("x" * 59 + "y" * 500, "a b", "newt"), COLOURS, (0, 1, 2))
    assert legend_of(longer, [0, 1]).shape == legend_of(plain, [0, 1]).shape
    assert not np.array_equal(legend_of(longer, [0, 1]), legend_of(plain, [0, 1]))
