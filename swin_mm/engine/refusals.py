"""What registries and constructors say when a config asks for what they do not have."""

from __future__ import annotations

import re
from types import TracebackType

import mmengine.registry
from mmengine.registry import Registry

from swin_mm.engine.errors import near

_UNKNOWN = re.compile(r"([\w.]+) is not in the ([\w.]+)::([\w ]+?) registry")
_BUILDER = "build_functions.py"  # MMEngine's; it calls what a config names, with the config's words


def refusal_of(error: Exception) -> str | None:
    """Say in a sentence what a config asked for in vain; nothing where the error is another one.

    Misspelt types and arguments of a config file, and packages that a part of it wants, come up
    while a run is built, deep in MMEngine. Errors of anybody's code are left alone, for their
    traceback.
    """
    if isinstance(error, KeyError) and (found := _UNKNOWN.search(str(error))):
        name, scope, kind = found.groups()
        guess = near(name.rpartition(".")[2], _names_of(kind, scope))
        return f"the config asks for a {kind} {name!r}, which {scope} does not have{guess}"
    if isinstance(error, TypeError) and "unexpected keyword argument" in str(error):
        first = error
        while isinstance(first.__context__, TypeError):  # MMEngine says it again, for each level
            first = first.__context__
        if _file_of(first.__traceback__).endswith(_BUILDER):
            return f"the config gives an argument that is not taken: {first}"
    if isinstance(error, ImportError) and not (error.name or "").startswith("swin_mm"):
        return f"the config asks for what needs a package that is not here: {error}"
    return None


def _names_of(kind: str, scope: str) -> set[str]:
    roots = (getattr(mmengine.registry, name) for name in mmengine.registry.__all__)
    names = set()
    for root in roots:
        if isinstance(root, Registry) and root.name == kind:
            for one in (root, root.children.get(scope, root)):
                names |= set(one.module_dict)
    return names


def _file_of(traceback: TracebackType | None) -> str:
    """Return the file in which an error was raised."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code.co_filename if traceback else ""
