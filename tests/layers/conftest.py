"""Chunks small enough for the tests' maps, or none."""

import pytest

import swin_mm.layers.block
from swin_mm.ops.chunks import ChunkCache


@pytest.fixture
def small_chunks(monkeypatch):
    """Let maps of tests have several chunks, and several pictures share one."""
    monkeypatch.setattr("swin_mm.ops.chunks.BYTES", 800)
    monkeypatch.setattr("swin_mm.layers.chunk_job.CHUNKS", ChunkCache())


@pytest.fixture
def whole(monkeypatch):
    """Return a function that runs something on whole maps alone."""

    def run(function):
        with monkeypatch.context() as patch:
            patch.setattr(swin_mm.layers.block, "can_run_by_chunks", lambda *_: False)
            return function()

    return run
