"""Look through torch's pickles before torch runs them: what they call, how they nest and share.

``torch.load(weights_only=True)`` runs nothing, but it hashes whatever a pickle uses as a key. To
hash deeply nested tuples ends the process; a few dozen that each hold the one before them twice are
hashed for ever. Nothing is built here: each value is known by its nesting and size alone.
"""

from __future__ import annotations

import os
import pickle
import pickletools
import zipfile
from dataclasses import dataclass, field
from typing import Any, BinaryIO

_DEEPEST = 200
_MOST_SHARED = 10_000_000  # values, those of a shared tuple counted each time it is used

# A file without zip: magic number, version, system, the object, the names of its storages.
_LEGACY_PICKLES = 5

_PUTS = frozenset(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"))
_GETS = frozenset(("GET", "BINGET", "LONG_BINGET"))
_CALLS = frozenset(("REDUCE", "NEWOBJ", "NEWOBJ_EX", "OBJ"))
_FILLS = frozenset(("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD"))


def _effects() -> dict[str, tuple[int, bool, bool]]:
    """Say how many values an instruction takes, if all since a mark too, and if it leaves one."""
    table = {}
    for opcode in pickletools.opcodes:
        marked = pickletools.markobject in opcode.stack_before
        before = opcode.stack_before
        taken = before.index(pickletools.markobject) if marked else len(before)
        table[opcode.name] = (taken, marked, bool(opcode.stack_after))
    return table


_EFFECTS = _effects()
_ATOMS = frozenset(
    name
    for name, effect in _EFFECTS.items()
    if effect == (0, False, True) and name not in _GETS | {"MARK", "GLOBAL", "INST"}
)
_TUPLES = frozenset(("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"))
_MANY, _BYTES = object(), object()  # several values, and bytes as protocol 2 writes them
_NO_LENGTH = (_MANY, _BYTES)  # bytearray() of a number has so many bytes, of these what they say


@dataclass
class Survey:
    """What torch's pickles in a file are like.

    Attributes:
        protocol: the highest that they name.
        called: the names of what they call, in their order.
    """

    protocol: int = 0
    called: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Value:
    """A value that is not built: how deeply it nests, how many values it is, and what it says."""

    depth: int
    size: int
    says: Any = None


@dataclass(frozen=True)
class _Name:
    path: str


def survey(file: BinaryIO) -> Survey:
    """Look through what ``torch.load`` would run of a file, and go back to its start.

    A Swin-L's file takes about 15 ms.

    Raises:
        pickle.UnpicklingError: if the values nest or share more than any checkpoint's, or the file
            takes more memory than it has bytes.
        Exception: of many kinds, if it is damaged.
    """
    found = Survey()
    if file.read(4) == b"PK\x03\x04":
        with zipfile.ZipFile(file) as archive:
            _check_sizes(archive.infolist(), file.seek(0, os.SEEK_END))
            for entry in archive.infolist():
                if entry.filename.lower().endswith("data.pkl"):  # torch's reader ignores case
                    with archive.open(entry) as inner:
                        _Walk(found).follow(inner.read())
    else:
        file.seek(0)
        for _ in range(_LEGACY_PICKLES):
            if file.read(1):  # a pickle that is not torch's is followed by none
                file.seek(-1, os.SEEK_CUR)
                _Walk(found).follow(file)
    file.seek(0)
    return found


def _check_sizes(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse an archive that unfolds: torch compresses nothing, and writes everything once."""
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise pickle.UnpicklingError("a checkpoint's archive must not be compressed")
    if (total := sum(entry.file_size for entry in entries)) > size:
        raise pickle.UnpicklingError(f"its parts have {total} bytes, more than the file")


class _Walk:
    """Follows one pickle's instructions with values that are not built."""

    def __init__(self, found: Survey) -> None:
        self._found = found
        self._stack: list[_Value] = []
        self._below: list[list[_Value]] = []
        self._memo: dict[int, _Value] = {}
        self._shared = 0

    def follow(self, instructions: bytes | BinaryIO) -> None:
        for opcode, argument, _ in pickletools.genops(instructions):
            name = opcode.name
            if name in _ATOMS:
                self._stack.append(_Value(0, 1, argument))
            elif name in _PUTS:
                self._memo[len(self._memo) if argument is None else argument] = self._stack[-1]
            elif name in _GETS:
                self._get(argument)
            elif name == "MARK":
                self._below.append(self._stack)
                self._stack = []
            elif name == "PROTO":
                self._found.protocol = max(self._found.protocol, argument)
            else:
                self._step(name, argument)

    def _get(self, place: int) -> None:
        value = self._memo[place]
        self._shared += value.size
        if self._shared > _MOST_SHARED:
            raise pickle.UnpicklingError(f"its values share more than {_MOST_SHARED} others")
        self._stack.append(value)

    def _step(self, name: str, argument: Any) -> None:
        count, marked, leaves = _EFFECTS[name]
        inside: list[_Value] = []
        if marked:
            inside, self._stack = self._stack, self._below.pop()
        if count:
            if len(self._stack) < count:
                raise pickle.UnpicklingError(f"{name} has nothing to work on")
            inside = self._stack[-count:] + inside
            del self._stack[-count:]
        if not leaves:
            return
        depth = max([value.depth for value in inside], default=-1) + 1
        if depth > _DEEPEST:
            raise pickle.UnpicklingError(f"its values nest more than {_DEEPEST} deep")
        size = sum([value.size for value in inside]) + 1
        if name in _FILLS:
            filled, *items = inside
            filled.depth = max([filled.depth, *(item.depth + 1 for item in items)])
            filled.size = size
            self._stack.append(filled)
        else:
            self._stack.append(_Value(depth, size, self._what_it_says(name, argument, inside)))

    def _what_it_says(self, name: str, argument: Any, inside: list[_Value]) -> Any:
        """Follow names and what they are given; a tuple of one says what is in it."""
        if name == "GLOBAL":
            return _Name(argument.replace(" ", "."))
        if name == "STACK_GLOBAL":
            return _Name(".".join(str(value.says) for value in inside))
        if name == "INST":
            self._found.called.append(argument.replace(" ", "."))
        elif name in _CALLS:
            return self._call(*inside[:2])
        elif name in _TUPLES:
            return inside[0].says if len(inside) == 1 else _MANY
        return None

    def _call(self, function: _Value, given: _Value | None = None) -> Any:
        if not isinstance(function.says, _Name):  # torch would print it, however long that takes
            raise pickle.UnpicklingError("only names are called")
        path = function.says.path
        self._found.called.append(path)
        if path.endswith("bytearray") and given and given.size > 1 and given.says not in _NO_LENGTH:
            raise pickle.UnpicklingError(f"Unsupported global: GLOBAL {path}()")
        return _BYTES if path == "_codecs.encode" else None
