"""How a ratio is measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Ratio(NamedTuple):
    """One row of the table: the value that was measured, and its bound."""

    name: str
    value: float
    bound: float
    at_least: bool = False
    note: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the bound is kept."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def time_once(work: Callable[[], Any]) -> float:
    """Return the seconds of one run, after a pause.

    The threads of BLAS and OpenMP spin for some time after their work, and would take a core from
    what is measured next: encoding measured right after the product that it is compared with is
    about 1.5 × it without the pause, and 1.3 × with it.
    """
    time.sleep(0.1)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def time_best(work: Callable[[], Any], n_runs: int = 3) -> float:
    """Return the seconds of the fastest of several runs."""
    return min(time_once(work) for _ in range(n_runs))


def time_both(
    ours: Callable[[], Any], theirs: Callable[[], Any], n_runs: int = 3
) -> tuple[float, float]:
    """Return the best seconds of each, run alternately so that a busy machine slows both."""
    pairs = [(time_once(ours), time_once(theirs)) for _ in range(n_runs)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


@contextmanager
def start_dask_workers(n_workers: int) -> Iterator[Any]:
    """Start a cluster of worker processes with one thread each, and yield its client.

    Dask sets OMP_NUM_THREADS=1 in this process too; it is reset, because it would limit what the
    workers are compared with to one thread.
    """
    from distributed import Client, LocalCluster

    n_threads = os.environ.get("OMP_NUM_THREADS")
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        os.environ.pop("OMP_NUM_THREADS", None)
        if n_threads is not None:
            os.environ["OMP_NUM_THREADS"] = n_threads
        yield client
