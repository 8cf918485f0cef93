"""Values that are made once and kept, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class BoundedCache:
    """Keeps values by their keys, the least recently used given up first. Safe under threads.

    Args:
        limit: bytes that all values together may take.

    Attributes:
        size: bytes that they take.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], tuple[Any, int]]) -> Any:
        """Return the value of a key, made if it is not there.

        Args:
            key: says all that the value depends on.
            make: gives the value and its bytes. Threads that ask at once may make it twice.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        value, nbytes = make()
        with self._lock:
            if key not in self._values:
                self._values[key] = value, nbytes
                self.size += nbytes
            while self.size > self.limit:
                self.size -= self._values.popitem(last=False)[1][1]
        return value
