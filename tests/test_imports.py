"""Each room imports only rooms below it, and `import swin_mm` needs no host."""

import ast
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "swin_mm"
HOSTS = {"mmcv", "mmdet", "mmseg"}

# The standard library and the room itself are always allowed.
ROOMS = {
    "ops": set(),
    "layers": {"ops"},
    "checkpoints": {"ops"},
    "registry": set(),
    "progress": set(),
    "backbones": {"layers", "checkpoints", "registry"},
    "engine": {"checkpoints", "registry", "checking"},
    "checking": {"registry", "progress"},
    "data": set(),
    "doctor": set(),
    "inference": {"backbones", "progress"},
    "export": {"inference"},
    "reporting": {"engine"},
    "visualization": {"backbones"},
    "__init__": {"backbones"},
}
LIBRARIES = {
    "ops": {"torch", "triton"},
    "layers": {"torch"},
    "checkpoints": {"torch", "safetensors"},
    "registry": {"mmengine"},
    "progress": {"rich"},
    "backbones": {"torch", "mmengine", "mmcv"},
    "engine": {"torch", "numpy", "mmengine", "matplotlib", "pycocotools", "rich"} | HOSTS,
    "checking": {"numpy", "mmengine", "cv2", "PIL", "rich"} | HOSTS,
    "data": {"numpy", "cv2", "pycocotools"},
    "doctor": {"torch", "numpy", "mmengine"} | HOSTS,
    "export": {"torch", "mmengine", "rich", "onnxruntime", "openvino"} | HOSTS,
    "inference": {"torch", "numpy", "mmengine", "cv2", "matplotlib", "PIL", "pycocotools", "rich"}
    | HOSTS,
    "reporting": {"torch", "numpy", "mmengine", "cv2", "matplotlib", "jinja2", "pycocotools"}
    | HOSTS,
    "visualization": {"torch", "numpy", "mmengine", "cv2", "matplotlib", "PIL"} | HOSTS,
    "__init__": {"mmengine"},
}


def below(room: str) -> set[str]:
    """The rooms that a room may import, those below its own neighbours among them."""
    return ROOMS[room].union(*(below(other) for other in ROOMS[room]))


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(file: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Every import statement of a file with the full name of each module that it names."""
    package = ("swin_mm", *file.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*start, *filter(None, [node.module])])
            if module == "swin_mm":
                for alias in node.names:
                    yield node, f"swin_mm.{alias.name}"
            else:
                yield node, module


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that sees this checkout, in another folder."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **variables},
        cwd=PACKAGE.anchor,
        capture_output=True,
        text=True,
    )


BLOCKER = """
import importlib.abc, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == {name!r} or name.startswith({name!r} + "."):
            raise ModuleNotFoundError("blocked: " + name, name=name)

sys.meta_path.insert(0, Blocker())
"""


def test_every_room_has_its_line_in_the_table():
    rooms = {room_of(file) for file in PACKAGE.rglob("*.py")}
    assert rooms <= set(ROOMS) == set(LIBRARIES)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_table_allows(room):
    allowed = LIBRARIES[room] | sys.stdlib_module_names
    rooms = below(room) | {room}
    strays = []
    for file in PACKAGE.rglob("*.py"):
        for node, module in imports(file) if room_of(file) == room else ():
            top, _, rest = module.partition(".")
            inside = rest.partition(".")[0] in rooms
            if not (inside if top == "swin_mm" else top in allowed):
                strays.append(f"{file.relative_to(PACKAGE.parent)}:{node.lineno} {module}")
    assert not strays, f"{room} may import {sorted(rooms | LIBRARIES[room])}"


def test_hosts_are_imported_inside_functions_only():
    strays = []
    for file in PACKAGE.rglob("*.py"):
        inside = {
            child
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
            for child in (inner.lineno for inner in ast.walk(node) if isinstance(inner, ast.stmt))
        }
        strays += [
            f"{file.relative_to(PACKAGE.parent)}:{node.lineno} {module}"
            for node, module in imports(file)
            if module.partition(".")[0] in HOSTS and node.lineno not in inside
        ]
    assert not strays


def test_importing_swin_mm_imports_no_host():
    run = run_python(
        "import sys, swin_mm; print(sorted({'mmcv', 'mmdet', 'mmseg'} & {*sys.modules}))"
    )
    assert run.stdout.strip() == "[]", run.stderr


@pytest.mark.parametrize("missing", ["mmcv", "mmcv._ext"])
def test_the_backbone_runs_without(missing):
    code = BLOCKER.format(name=missing) + (
        "import torch, swin_mm\n"
        "net = swin_mm.SwinTransformer(embed_dims=8, depths=(1, 1), num_heads=(1, 2),"
        " strides=(4, 2), out_indices=(0, 1), window_size=2)\n"
        "print([tuple(out.shape) for out in net(torch.rand(1, 3, 20, 20))])\n"
    )
    run = run_python(code)
    assert run.stdout.strip() == "[(1, 8, 5, 5), (1, 16, 3, 3)]", run.stderr


def test_without_mmengine_the_error_names_the_extras():
    run = run_python(BLOCKER.format(name="mmengine") + "import swin_mm")
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: swin_mm needs MMEngine")
    assert 'pip install "swin_mm[onedl]"' in last and 'pip install "swin_mm[openmmlab]"' in last
