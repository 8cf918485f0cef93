"""Read numbers off a command line, as people write sizes and places."""

from __future__ import annotations

from argparse import ArgumentTypeError

_LEAST_DPI, _MOST_DPI = 50, 600


def sides(text: str) -> int | tuple[int, int]:
    """Read `640` as a long side, `640x480` as width and height, px."""
    numbers = _numbers(text.lower(), "x", "640, or 640x480 for width x height, px")
    if len(numbers) > 2 or min(numbers) < 1:
        raise ArgumentTypeError(f"must be one or two sides of 1 px or more, got {text}")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def xy(text: str) -> tuple[int, int]:
    """Read `320,200` as x and y, px."""
    numbers = _numbers(text, ",", "X,Y such as 320,200, px")
    if len(numbers) != 2:
        raise ArgumentTypeError(f"must be X,Y such as 320,200, px, got {text}")
    return numbers[0], numbers[1]


def channels(text: str) -> tuple[int, ...]:
    """Read `0,5,17` as channels."""
    return tuple(_numbers(text, ",", "channels such as 0,5,17"))


def dots(text: str) -> int:
    """Read px an inch."""
    (number,) = _numbers(text, None, "px an inch, such as 200")
    if not _LEAST_DPI <= number <= _MOST_DPI:
        raise ArgumentTypeError(f"must be {_LEAST_DPI} to {_MOST_DPI}, got {number}")
    return number


def _numbers(text: str, separator: str | None, rule: str) -> list[int]:
    try:
        return [int(word) for word in (text.split(separator) if separator else [text])]
    except ValueError as error:
        raise ArgumentTypeError(f"must be {rule}, got {text!r}") from error
