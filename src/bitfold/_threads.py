"""Work on all cores: blocks are mapped over one thread pool, with one BLAS thread per block.

Threaded BLAS inside a pool of threads oversubscribes the cores and is several times slower than
either alone. So BLAS is limited to one thread while the pool is working.

The order of a sum, and with it the last bits of a matrix product or a factorization, depends on
the number of threads. So whatever must not depend on it, such as ``fit``, runs in
:data:`serial_blas`, and uses several cores only by mapping blocks.

Also here: a lock, and values computed on first use, for objects that several threads share.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, Generic, TypeVar, overload
from weakref import WeakSet

import numpy as np

from bitfold._types import AnyArray, Float32Array

T = TypeVar("T")
R = TypeVar("R")


def count_threads() -> int:
    """Return the number of cores this process may use; ``OMP_NUM_THREADS`` can lower it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores or 1, int(limit) if limit.isdigit() else cores or 1))


class SharedLock:
    """A reentrant lock of the threads of one process.

    A forked child starts with a free lock, because the thread that held it does not exist there.
    So does a copy or an unpickled object.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[SharedLock], tuple[()]]:
        return SharedLock, ()


_locks: WeakSet[SharedLock] = WeakSet()


def _free_locks() -> None:
    for lock in list(_locks):
        lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


class lazy_property(Generic[R]):  # noqa: N801  used like functools.cached_property
    """A property that is computed on first use, and then stored in the object.

    Until Python 3.12, ``functools.cached_property`` holds one lock for all objects of a class
    while it computes, so that a reader would wait for a writer. Without a lock, two threads may
    compute the same value.
    """

    def __init__(self, compute: Callable[[Any], R]) -> None:
        self._compute = compute
        functools.update_wrapper(self, compute)  # type: ignore[arg-type]

    @overload
    def __get__(self, owner: None, kind: type) -> lazy_property[R]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> R: ...

    def __get__(self, owner: object | None, kind: type) -> lazy_property[R] | R:
        if owner is None:
            return self
        # A value in the object's dictionary hides this descriptor, so it is not called again.
        value = vars(owner)[self._compute.__name__] = self._compute(owner)
        return value


class _SerialBlas:
    """Limits BLAS and OpenMP to one thread while a caller is inside; callers may overlap.

    The limit of BLAS is one for all threads of the process. OpenMP has a limit for each of them, so
    that every caller sets its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limiter: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        controller = _controller()
        openmp = [lib for lib in controller.lib_controllers if lib.user_api == "openmp"]
        # Read before BLAS is limited, which may change the limits of OpenMP too.
        counts = [lib.get_num_threads() for lib in openmp]
        with self._lock:
            self._n_inside += 1
            if self._n_inside == 1:
                self._limiter = controller.limit(limits=1, user_api="blas")
        for lib in openmp:
            lib.set_num_threads(1)
        try:
            yield
        finally:
            with self._lock:
                self._n_inside -= 1
                if self._n_inside == 0:
                    self._limiter.restore_original_limits()
            for lib, count in zip(openmp, counts, strict=True):
                lib.set_num_threads(count)


serial_blas = _SerialBlas()
"""Context, or with ``@serial_blas()`` decorator, of everything that must give the same result on
any number of threads."""


_buffers = threading.local()


def borrow_buffer(name: str, shape: tuple[int, int]) -> Float32Array:
    """Return a buffer that is valid until this thread borrows one of the same name again.

    New memory for every block would cost page faults each time.
    """
    size = shape[0] * shape[1]
    buffer: Float32Array | None = getattr(_buffers, name, None)
    if buffer is None or buffer.size < size:
        buffer = np.empty(size, np.float32)
        setattr(_buffers, name, buffer)
    return buffer[:size].reshape(shape)


_THREADED_MODULES = ("faiss", "scipy.linalg", "sklearn.utils._openmp_helpers")
"""Modules that load BLAS or OpenMP libraries of their own."""


def _controller() -> Any:
    """Return the controller of the BLAS and OpenMP libraries that are loaded."""
    return _find_libraries(tuple(name in sys.modules for name in _THREADED_MODULES))


@functools.cache
def _find_libraries(loaded: tuple[bool, ...]) -> Any:
    """Return a controller, once for each set of loaded modules: it takes milliseconds."""
    import numpy.linalg  # noqa: F401  BLAS must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@functools.cache
def _pool(process_id: int) -> ThreadPoolExecutor:
    """Return the pool of a process: threads do not survive a fork."""
    return ThreadPoolExecutor(count_threads(), thread_name_prefix="bitfold")


def map_blocks(work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
    """Apply ``work`` to blocks on all cores; yield the results in order.

    At most one block more than there are threads is taken from the iterable ahead of the results,
    so that memory stays bounded.
    """
    if count_threads() == 1:
        # BLAS may still have more threads, and would then sum in another order.
        with serial_blas():
            yield from map(work, blocks)
        return
    pool = _pool(os.getpid())
    source = iter(blocks)
    with serial_blas():
        pending: list[Future[R]] = [
            pool.submit(work, block) for block in islice(source, count_threads() + 1)
        ]
        try:
            while pending:
                result = pending.pop(0).result()
                pending.extend(pool.submit(work, block) for block in islice(source, 1))
                yield result
        finally:
            for future in pending:
                future.cancel()


def map_short(work: Callable[[T], R], blocks: Sequence[T]) -> list[R]:
    """Apply ``work``, which must not use BLAS, to blocks on all cores; return the results in order.

    For calls of milliseconds: this thread begins at once, while the others are still waking up, and
    the threads of BLAS are left alone.
    """
    results: list[Any] = [None] * len(blocks)
    numbers = iter(range(len(blocks)))

    def work_on_rest() -> None:
        for i in numbers:  # each number goes to one thread
            results[i] = work(blocks[i])

    n_helpers = min(count_threads(), len(blocks)) - 1
    helpers = [_pool(os.getpid()).submit(work_on_rest) for _ in range(n_helpers)]
    try:
        work_on_rest()
    finally:
        errors = [helper.exception() for helper in helpers]
    for error in errors:
        if error is not None:
            raise error
    return results


_JOINED_ROWS = 1024
"""Rows per call of ``map_rows``."""


def map_rows(
    work: Callable[..., tuple[AnyArray, ...]], rows: AnyArray, *arguments: Any
) -> tuple[AnyArray, ...]:
    """Apply ``work(block, *arguments)`` to blocks of rows on all cores, and join the results.

    faiss would use all cores by itself, but round differently on another number of them. Here
    each call has one thread.
    """

    def work_serially(start: int) -> tuple[AnyArray, ...]:
        with serial_blas():
            return work(rows[start : start + _JOINED_ROWS], *arguments)

    parts = list(map_blocks(work_serially, range(0, len(rows), _JOINED_ROWS)))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
