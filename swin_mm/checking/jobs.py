"""Work shared by processes, of which one may die without taking the job along."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, TypeVar

_CHUNK = 16  # pieces that a process does at a time
_MOST = 16  # processes
Piece = TypeVar("Piece")


def count_workers(wished: int | None) -> int:
    """Return how many processes to use: one for each core that we may use, 16 at most."""
    if wished is not None:
        return wished
    # Linux alone tells which cores a process may use.
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(ours or 1, _MOST)


class Crew:
    """Some processes, or none: then this one does the work. Enter it.

    Args:
        workers: how many processes.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Crew:
        if self._workers:
            self._pool = _pool(self._workers)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def start(self, work: Callable[..., Any], *arguments: Any) -> Future:
        """Begin one long piece of work."""
        if self._pool is not None:
            return self._pool.submit(work, *arguments)
        done: Future = Future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done

    def each(
        self, work: Callable[[Piece], Any], pieces: Sequence[Piece]
    ) -> Iterator[tuple[Piece, Any]]:
        """Do one work on many pieces, in any order.

        Returns:
            Each piece and its result; `None` where the process that did it died.
        """
        if self._pool is None:
            yield from ((piece, work(piece)) for piece in pieces)
            return
        futures = {}
        waiting = [pieces[start : start + _CHUNK] for start in range(0, len(pieces), _CHUNK)]
        with contextlib.suppress(BrokenProcessPool):
            for place, chunk in enumerate(waiting):
                futures[self._pool.submit(_do_all, work, chunk)] = place
        left = dict(enumerate(waiting))
        for future in as_completed(futures):
            if not _died(future):
                yield from zip(left.pop(futures[future]), future.result(), strict=True)
        if left:
            yield from self._go_on(work, list(left.values()))

    def _go_on(
        self, work: Callable[[Piece], Any], chunks: list[Sequence[Piece]]
    ) -> Iterator[tuple[Piece, Any]]:
        """Go on after a process has died, over one of the chunks that were at work."""
        self._pool.shutdown()
        self._pool = _pool(self._workers)
        at_work = 2 * self._workers + 1  # the executor hands out one more for each process
        for piece in itertools.chain.from_iterable(chunks[:at_work]):
            yield piece, self._do_apart(work, piece)
        rest = list(itertools.chain.from_iterable(chunks[at_work:]))
        if rest:
            yield from self.each(work, rest)

    def _do_apart(self, work: Callable[[Piece], Any], piece: Piece) -> Any:
        try:
            return self.start(work, piece).result()
        except BrokenProcessPool:
            self._pool = _pool(self._workers)
            return None


def _died(future: Future) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def _do_all(work: Callable[[Piece], Any], pieces: Sequence[Piece]) -> list[Any]:
    return [work(piece) for piece in pieces]


def _pool(workers: int) -> ProcessPoolExecutor:
    """Fork processes that read, all of them now, while this one is small and has few threads."""
    import cv2

    # Forked, since a fresh process would import torch, which takes longer than a sample.
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_be_quiet)
    # A fork in which OpenCV ends threads that it has not waits for them for ever.
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        pool.submit(os.getpid).result()
    finally:
        cv2.setNumThreads(threads)
    return pool


def _be_quiet() -> None:
    """Let decoders complain to nobody: what they say reaches us as a fault, with a name."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
