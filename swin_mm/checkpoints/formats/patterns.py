"""Names with fields in braces: ``features.{2i+1}.{j}`` reads and writes numbers of stages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

# What a field stands for: the numbers of a stage, a block, an output and a layer of the bias
# network, and the two tensors of a layer. {last}, the number of the last stage, is known before.
_NUMBERS, _WORDS = "ijkm", {"t": "weight|bias"}
_FIELD = re.compile(r"\{(\d*)([a-z])([+-]\d+)?\}")

Fields = Mapping[str, str | int]


@dataclass(frozen=True)
class _Term:
    """A number in a name: ``times`` times the field's, ``plus`` some more."""

    times: int
    plus: int

    def field(self, number: int) -> int | None:
        """Solve for the field's number; None if it is none."""
        value, rest = divmod(number - self.plus, self.times)
        return value if rest == 0 and value >= 0 else None


def match(pattern: str, name: str, last: int) -> dict[str, str | int] | None:
    """Read the fields off a name that has the form of a pattern; None if it has not.

    Args:
        pattern: with fields in braces.
        name: without prefix.
        last: number of the network's last stage, counted from 0.
    """
    expression, terms = _compiled(pattern, last)
    found = expression.fullmatch(name)
    return found and _fields(found.groupdict(), terms)


def fill(pattern: str, fields: Fields, last: int) -> str:
    """Write a name: the pattern with its fields filled in."""

    def value(found: re.Match[str]) -> str:
        times, field, plus = found.groups()
        if field in _WORDS:
            return str(fields[field])
        return str(int(times or 1) * int(fields[field]) + int(plus or 0))

    return _FIELD.sub(value, pattern.replace("{last}", str(last)))


def prefix_before(pattern: str, name: str) -> tuple[str, int] | None:
    """Find what precedes a pattern in a name, and the number of the stage it speaks of."""
    expression, terms = _compiled(pattern, 0, prefixed=True)
    found = expression.fullmatch(name)
    if found is None:
        return None
    groups = found.groupdict()
    prefix = groups.pop("prefix")
    fields = _fields(groups, terms)
    return None if fields is None else (prefix, int(fields["i"]))


def _fields(groups: Mapping[str, str], terms: Mapping[str, _Term]) -> dict[str, str | int] | None:
    fields = {
        name: terms[name].field(int(value)) if name in terms else value
        for name, value in groups.items()
    }
    return None if None in fields.values() else fields


@lru_cache(maxsize=4096)
def _compiled(
    pattern: str, last: int, *, prefixed: bool = False
) -> tuple[re.Pattern[str], dict[str, _Term]]:
    pattern = pattern.replace("{last}", str(last))
    expression, terms, end = "", {}, 0
    for found in _FIELD.finditer(pattern):
        times, field, plus = found.groups()
        values = _WORDS.get(field)
        if values is None:
            if field not in _NUMBERS:
                raise ValueError(f"a field must be one of {_NUMBERS} or {[*_WORDS]}, got {field!r}")
            values, terms[field] = r"\d{1,6}", _Term(int(times or 1), int(plus or 0))
        expression += re.escape(pattern[end : found.start()]) + f"(?P<{field}>{values})"
        end = found.end()
    expression += re.escape(pattern[end:])
    return re.compile(r"(?P<prefix>(?:[^.]+\.)*?)" + expression if prefixed else expression), terms
