"""How a ratio is measured and shown."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Ratio(NamedTuple):
    """One line of the table: what was measured, the ratio, and the bound it must keep."""

    what: str
    value: float
    bound: float
    at_least: bool = False
    note: str = ""

    @property
    def kept(self) -> bool:
        """Whether the bound is kept."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def best_of(work: Callable[[], Any], times: int = 3) -> float:
    """Seconds of the fastest of some runs."""
    return min(seconds(work) for _ in range(times))


def seconds(work: Callable[[], Any]) -> float:
    """Seconds of one run.

    It begins after a pause: the threads of BLAS and OpenMP spin for some time after their work,
    and would take a core from whatever is measured next. It matters: without the pause, encoding
    measured right after the product it is compared with is about 1.5 × it instead of 1.3 ×.
    """
    time.sleep(0.1)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def side_by_side(
    ours: Callable[[], Any], theirs: Callable[[], Any], times: int = 3
) -> tuple[float, float]:
    """Best seconds of each, taken in turns, so that a busy machine slows both alike."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(times)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


@contextmanager
def dask_workers(n: int) -> Iterator[Any]:
    """Start a cluster of worker processes of one thread each; give its client, the current one.

    Dask leaves OMP_NUM_THREADS=1 in the environment of this process too, where it would hold
    whatever the workers are compared with to one thread.
    """
    from distributed import Client, LocalCluster

    asked = os.environ.get("OMP_NUM_THREADS")
    with (
        LocalCluster(
            n_workers=n, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        os.environ.pop("OMP_NUM_THREADS", None)
        if asked is not None:
            os.environ["OMP_NUM_THREADS"] = asked
        yield client
