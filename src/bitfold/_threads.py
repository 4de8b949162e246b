"""Two ways to use all cores without their fighting: one pool for blocks, one BLAS thread each.

Threaded BLAS inside a pool of threads (or beside numba's own) oversubscribes the cores and is
several times slower than either alone. So work is cut into blocks, the blocks go to a pool, and
while the pool works BLAS is told to use one thread.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from bitfold._types import Float32Array

T = TypeVar("T")
R = TypeVar("R")


def n_threads() -> int:
    """How many cores this process may use; ``OMP_NUM_THREADS`` lowers it, as everywhere."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores or 1, int(asked) if asked.isdigit() else cores or 1))


class _SerialBlas:
    """BLAS on one thread while anyone is inside; counted, so that callers may overlap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limiter: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limiter = _controller().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limiter.restore_original_limits()


serial_blas = _SerialBlas()


_room = threading.local()


def scratch(name: str, shape: tuple[int, int]) -> Float32Array:
    """Return room for a block that is done with before this thread asks for it again.

    Fresh memory for every block would cost its page faults each time.
    """
    size = shape[0] * shape[1]
    held: Float32Array | None = getattr(_room, name, None)
    if held is None or held.size < size:
        held = np.empty(size, np.float32)
        setattr(_room, name, held)
    return held[:size].reshape(shape)


@functools.cache
def _controller() -> Any:
    """Return the controller of the BLAS libraries; looking for them takes milliseconds."""
    import numpy.linalg  # noqa: F401  the BLAS has to be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@functools.cache
def _pool(process_id: int) -> ThreadPoolExecutor:
    """One pool per process: threads do not survive a fork."""
    return ThreadPoolExecutor(n_threads(), thread_name_prefix="bitfold")


def map_blocks(work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
    """Apply ``work`` to blocks on all cores; results in order, few blocks in flight.

    Only as many blocks as there are threads, and one more, are taken from the iterable at a
    time: memory stays bounded however many there are.
    """
    if n_threads() == 1:
        # BLAS may have more all the same, and would sum in another order.
        with serial_blas():
            yield from map(work, blocks)
        return
    pool = _pool(os.getpid())
    source = iter(blocks)
    with serial_blas():
        pending: list[Future[R]] = [
            pool.submit(work, block) for block in islice(source, n_threads() + 1)
        ]
        try:
            while pending:
                result = pending.pop(0).result()
                pending.extend(pool.submit(work, block) for block in islice(source, 1))
                yield result
        finally:
            for future in pending:
                future.cancel()
