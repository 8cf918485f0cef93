from argparse import ArgumentTypeError

import pytest

from swin_mm.visualization.words import channels, dots, sides, xy


def test_sizes_places_and_lists_are_read():
    assert (sides("640"), sides("640x480"), sides("640X480")) == (640, (640, 480), (640, 480))
    assert xy("3,40") == (3, 40)
    assert (channels("5"), channels("0,5,17")) == ((5,), (0, 5, 17))
    assert dots("200") == 200


@pytest.mark.parametrize(
    ("read", "text"),
    [(sides, "0"), (sides, "a"), (sides, "1x2x3"), (xy, "3"), (xy, "3,b"), (channels, "1,"),
     (dots, "49"), (dots, "601"), (dots, "x")],
)  # fmt: skip
def test_others_are_refused_with_the_rule(read, text):
    with pytest.raises(ArgumentTypeError, match="must be"):
        read(text)
