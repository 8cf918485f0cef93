"""Python and C++ have the same idea of what the kernels take."""

import ctypes
import re

import pytest

from swin_mm.ops.kernels import structures

HEADERS = {
    "Norm": "rows.h",
    "NormBackward": "rows_backward.h",
    "AddBranch": "kernels.h",
    "Gradients": "kernels.h",
    "Attention": "attention.h",
}


def fields_of(text, name):
    """Fields of a C++ structure, with their types, in their order."""
    body = re.search(rf"^struct {name} {{(.*?)^}};", text, re.M | re.S)[1]
    body = re.sub(r"//[^\n]*", "", body)
    found = []
    for line in body.split(";"):
        if "(" in line or "{" in line:  # functions come after all fields
            break
        words = re.fullmatch(r"\s*(const )?([\w<>]+)(.*)", line, re.S)
        if words is None:
            continue
        _, kind, names = words.groups()
        found += [(one.strip(), kind) for one in names.replace("const*", "*").split(",")]
    return found


def as_python(name, kind):
    """What ctypes calls it."""
    count = re.search(r"\[(\d+)\]", name)
    if count:
        return ctypes.c_void_p * int(count[1])
    if "*" in name:
        return ctypes.c_void_p
    kinds = {"long": ctypes.c_long, "float": ctypes.c_float, "int": ctypes.c_int}
    return kinds.get(kind) or getattr(structures, kind.split("<")[0])


NAMES = {"from": "source", "to": "target", "last_kept": "last_kept", "next_kept": "next_kept"}


@pytest.mark.parametrize("name", HEADERS)
def test_structures_are_those_of_the_headers(root, name):
    text = (root / "swin_mm/ops/kernels" / HEADERS[name]).read_text()
    wanted = [
        (NAMES.get(bare, bare), as_python(one, kind))
        for one, kind in fields_of(text, name)
        for bare in [re.sub(r"[*\s]|\[\d+\]", "", one)]
    ]
    assert [tuple(field) for field in getattr(structures, name)._fields_] == wanted


@pytest.mark.usefixtures("kernels")
def test_every_function_of_the_header_is_declared(root):
    from swin_mm.ops.kernels import library

    text = (root / "swin_mm/ops/kernels/kernels.h").read_text().split('extern "C" {')[1]
    for kind, name, given in re.findall(r"^(\w+) (swin_mm_\w+)\((.*?)\) {", text, re.M | re.S):
        function = getattr(library(), name)
        number = len(given.split(",")) if given else 0
        assert len(function.argtypes or ()) == number, name
        wanted = {"void": None, "int": ctypes.c_int, "long": ctypes.c_long}[kind]
        assert function.restype is wanted, name
