"""Plain pickles of arrays, as detectron2 and Mask2Former keep their weights: read without running.

Such a file is ``{'model': {name: array}, '__author__': ..., 'matching_heuristics': True}``; the
backbones that Mask2Former's script writes hold torch's tensors in place of NumPy's arrays. A pickle
is a program, so it is run here by a machine that knows few instructions. A name in it is never
imported: it stands for a function of ours that does what that name would have done to numbers.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from swin_mm.checkpoints.pickle_survey import survey

# NumPy's name of a number: its kind and its size in bytes.
_DTYPES = {
    "b1": torch.bool,
    "i1": torch.int8,
    "i2": torch.int16,
    "i4": torch.int32,
    "i8": torch.int64,
    "u1": torch.uint8,
    "u2": torch.uint16,
    "u4": torch.uint32,
    "u8": torch.uint64,
    "f2": torch.float16,
    "f4": torch.float32,
    "f8": torch.float64,
}

# What protocols 2 to 5 need for containers, numbers, strings, names and calls. The others make
# objects of classes, sets, or fetch things from outside the file.
_INSTRUCTIONS = """
PROTO FRAME STOP MARK POP POP_MARK BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE
NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT
BINSTRING SHORT_BINSTRING SHORT_BINBYTES BINUNICODE SHORT_BINUNICODE BINUNICODE8
EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 TUPLE EMPTY_LIST APPEND APPENDS EMPTY_DICT GLOBAL STACK_GLOBAL
"""


def is_plain_pickle(start: bytes) -> bool:
    """Say whether a file's first 32 bytes or more begin a pickle that torch did not write."""
    magic = torch.serialization.MAGIC_NUMBER.to_bytes(10, "little")
    return start.startswith(b"\x80") and magic not in start[:32]


def read_numpy_pickle(
    path: Path, *, device: str | torch.device = "cpu", unsafe: bool = False
) -> Any:
    """Read a plain pickle; its arrays become contiguous tensors of the same numbers.

    Args:
        path: the file.
        device: of what becomes tensors.
        unsafe: let Python run it, whatever it names.

    Raises:
        pickle.UnpicklingError: if it wants more than numbers and plain containers.
        Exception: of many kinds, if it is damaged.
    """
    with path.open("rb") as file:
        if unsafe:
            return _with_tensors(pickle.load(file, encoding="latin1"), device)
        return _Machine(file, path.stat().st_size, torch.device(device)).load()


@dataclass(frozen=True)
class _Named:
    """What a name stands for; all that a pickle can call."""

    make: Callable[..., Any]


@dataclass
class _Dtype:
    """A kind of numbers, on the way."""

    name: str
    swapped: bool = False


class _Instructions(dict):
    """Those of the machine, by their codes."""

    def __missing__(self, code: int) -> None:
        raise pickle.UnpicklingError(f"numbers and containers need no instruction {bytes([code])}")


class _Machine(pickle._Unpickler):
    """Runs a pickle of numbers and plain containers.

    Python's own in C would do what any instruction says, and make room for what a damaged file
    announces before looking whether it is there.
    """

    def __init__(self, file: BinaryIO, size: int, device: torch.device) -> None:
        super().__init__(file, encoding="latin1")  # as Python 2 wrote bytes
        self._file, self._size, self._device = file, size, device
        self._named = {path: _Named(make) for path, make in self._by_name().items()}

    def _by_name(self) -> dict[str, Callable[..., Any]]:
        table: dict[str, Callable[..., Any]] = {
            "collections.OrderedDict": _ordered,
            "_codecs.encode": _encode,
            "builtins.bytes": lambda: b"",
            "__builtin__.bytes": lambda: b"",
            "numpy.ndarray": _refuse_call,
            "numpy.dtype": _dtype,
            "torch.storage._load_from_bytes": _storage,
            "torch._utils._rebuild_tensor": self._view,
            "torch._utils._rebuild_tensor_v2": self._view,
            "torch._utils._rebuild_parameter": _parameter,
        }
        for core in ("core", "_core"):  # NumPy 1 and 2
            table[f"numpy.{core}.multiarray._reconstruct"] = self._empty
            table[f"numpy.{core}.multiarray.scalar"] = _scalar
            table[f"numpy.{core}.numeric._frombuffer"] = self._from_buffer
        return table

    def find_class(self, module: str, name: str) -> _Named:
        if (named := self._named.get(f"{module}.{name}")) is None:
            raise pickle.UnpicklingError(f"Unsupported global: GLOBAL {module}.{name}")
        return named

    def _empty(self, *_: Any) -> Tensor:
        return torch.empty(0, device=self._device)

    def _from_buffer(
        self, raw: bytearray, dtype: _Dtype, shape: tuple[int, ...], order: str
    ) -> Tensor:
        return _tensor(raw, dtype, shape, by_columns=order == "F").to(self._device)

    def _view(
        self, storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any
    ) -> Tensor:
        if not isinstance(storage, torch.storage.TypedStorage):
            raise pickle.UnpicklingError("a tensor must have a storage")
        flat = torch.empty(0, dtype=storage.dtype).set_(storage)
        return flat.as_strided(size, stride, offset).to(self._device)

    def _load_bytes(self, length: int) -> None:
        """Read bytes that may be written to, so that a tensor need not copy them."""
        if length > self._size:
            raise EOFError(f"{length} bytes announced, more than there are")
        if self._unframer.current_frame is None:
            raw = bytearray(length)
            self._file.readinto(raw)  # what is cut off here has no end either
        else:  # a frame holds little
            raw = bytearray(self.read(length))
        self.append(raw)

    def _call(self) -> None:
        arguments, named = self.stack.pop(), self.stack.pop()
        if not isinstance(named, _Named):
            raise pickle.UnpicklingError(f"only names are called, not a {type(named).__name__}")
        self.append(named.make(*arguments))

    def _build(self) -> None:
        state, built = self.stack.pop(), self.stack[-1]
        if isinstance(built, Tensor):  # an array; whoever has it already gets its numbers too
            shape, dtype, by_columns, raw = state[-4:]
            built.data = _tensor(raw, dtype, shape, by_columns=by_columns).to(built.device)
        elif isinstance(built, _Dtype):
            built.swapped = state[1] == {"little": ">", "big": "<"}[sys.byteorder]
        elif not isinstance(built, OrderedDict):  # of that, attributes of state_dict() are left
            raise pickle.UnpicklingError(f"a {type(built).__name__} must have no state")

    def _set_items(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict):
            raise pickle.UnpicklingError("only dictionaries have items")
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][_key(key)] = value

    dispatch = _Instructions(
        {
            **{
                getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]]
                for name in _INSTRUCTIONS.split()
            },
            pickle.BINBYTES[0]: lambda self: self._load_bytes(*struct.unpack("<I", self.read(4))),
            pickle.BINBYTES8[0]: lambda self: self._load_bytes(*struct.unpack("<Q", self.read(8))),
            pickle.BYTEARRAY8[0]: lambda self: self._load_bytes(*struct.unpack("<Q", self.read(8))),
            pickle.SETITEM[0]: lambda self: self._set_items([self.stack.pop(-2), self.stack.pop()]),
            pickle.SETITEMS[0]: lambda self: self._set_items(self.pop_mark()),
            pickle.REDUCE[0]: _call,
            pickle.BUILD[0]: _build,
        }
    )


def _refuse_call(*_: Any) -> None:
    raise pickle.UnpicklingError("Unsupported global: GLOBAL numpy.ndarray()")


def _ordered(items: list[Any] | tuple[()] = ()) -> OrderedDict:
    return OrderedDict((str(_key(key)), value) for key, value in items)


def _key(key: Any) -> str | int | float | bool:
    """Let plain keys pass: to hash or print tuples of tuples may end the process, or never end."""
    if type(key) not in (str, int, float, bool):
        raise pickle.UnpicklingError(f"a key must be a name, not {type(key).__name__}")
    return key


def _encode(text: str, encoding: str) -> bytearray:
    """Give bytes back that protocol 2 keeps as text."""
    if type(text) is not str or type(encoding) is not str or encoding != "latin1":
        raise pickle.UnpicklingError("only text in latin1 is taken for bytes")
    return bytearray(text.encode("latin1"))


def _dtype(name: str, *_: Any) -> _Dtype:
    if type(name) is not str:
        raise pickle.UnpicklingError(f"a dtype must have a name, not {type(name).__name__}")
    if name not in _DTYPES:
        raise pickle.UnpicklingError(f"Unsupported global: GLOBAL numpy.dtype({name!r})")
    return _Dtype(name)


def _scalar(dtype: _Dtype, raw: bytearray | bytes | str) -> bool | int | float:
    return _tensor(raw, dtype, (), by_columns=False).item()


def _parameter(data: Tensor, *_: Any) -> Tensor:
    return data


def _storage(raw: bytearray | bytes | str) -> Any:
    """Read what torch writes for the storage of one tensor, a legacy file of its own."""
    file = io.BytesIO(_bytes(raw))
    survey(file)
    storage = torch.load(file, weights_only=True)
    if isinstance(raw, bytearray):
        raw.clear()  # the machine remembers it to the end: that would be the whole file once more
    return storage


def _tensor(
    raw: bytearray | bytes | str, dtype: _Dtype, shape: tuple[int, ...], *, by_columns: bool
) -> Tensor:
    """Make a tensor of an array's memory."""
    kind = _DTYPES[dtype.name]
    if type(shape) is not tuple or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError("the sides of an array must be whole numbers, from 0 on")
    raw = raw if isinstance(raw, bytearray) else bytearray(_bytes(raw))
    flat = torch.frombuffer(raw, dtype=torch.uint8) if raw else torch.empty(0, dtype=torch.uint8)
    if dtype.swapped:
        flat = flat.view(-1, kind.itemsize).flip(1).flatten()
    flat = flat.view(kind)
    if by_columns:
        return flat.view(shape[::-1]).permute(*range(len(shape))[::-1]).contiguous()
    return flat.view(shape)


def _bytes(raw: bytearray | bytes | str) -> bytes | bytearray:
    if not isinstance(raw, str | bytes | bytearray):  # of a number, bytearray() makes so many
        raise pickle.UnpicklingError(f"numbers lie in bytes, not in {type(raw).__name__}")
    return raw.encode("latin1") if isinstance(raw, str) else raw


def _with_tensors(content: Any, device: str | torch.device) -> Any:
    """Bring what Python unpickled to what the machine makes."""
    if isinstance(content, dict):
        return {key: _with_tensors(value, device) for key, value in content.items()}
    if isinstance(content, Tensor) or hasattr(content, "__array_interface__"):
        return torch.as_tensor(content).to(device)
    return content
