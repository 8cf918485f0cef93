"""The errors of this room."""

from __future__ import annotations


class CheckpointError(ValueError):
    """A weight file cannot be read, understood or fitted; the message says why and what to do."""


class OtherNetworkError(CheckpointError):
    """A file is a Swin's, but of other sizes or another version than the model."""
