"""The one error of this room."""

from __future__ import annotations


class CheckpointError(ValueError):
    """A weight file cannot be read, understood or fitted; the message says why and what to do."""
