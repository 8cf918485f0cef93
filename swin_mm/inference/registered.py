"""Names of a config, understood in that config's scope whatever was loaded since."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from mmengine.config import Config
from mmengine.registry import Registry


@contextlib.contextmanager
def scope_of(cfg: Config, registry: Registry) -> Iterator[Registry]:
    """Build in a config's `default_scope`: a detector and a segmentor may live side by side."""
    with registry.switch_scope_and_registry(cfg.get("default_scope")) as here:
        # The hosts print what optional packages they lack, here and not in the first build.
        with contextlib.redirect_stdout(io.StringIO()):
            here.import_from_location()
        yield here


def find_class(cfg: Config, registry: Registry, kind: Any) -> Any:
    """Look a `type` of a config up without building it.

    Returns:
        The class; `kind` itself where a config names the class, `None` where nothing is registered.
    """
    if not isinstance(kind, str):
        return kind
    with scope_of(cfg, registry) as here:
        try:
            return here.get(kind)
        except (KeyError, RuntimeError):  # one distribution of MMEngine raises, one returns None
            return None
