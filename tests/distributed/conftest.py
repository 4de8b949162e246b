"""One cluster per file: two worker processes of one thread, and a way to kill one."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import dask.array as da
import numpy as np
import pytest
from numpy.typing import NDArray

from distributed import Client, LocalCluster

N_WORKERS = 2


# For one file, because an idle cluster takes an eighth of a core until it is closed.
@pytest.fixture(scope="module")
def _cluster() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(_cluster: Client) -> Iterator[Client]:
    """The current client, with all workers running."""
    _cluster.wait_for_workers(N_WORKERS, timeout=100)
    with _cluster.as_current():
        yield _cluster


@pytest.fixture
def kill_busy_worker(client: Client) -> Callable[[], threading.Thread]:
    """Return a function that kills a busy worker from another thread."""

    def find_and_kill() -> None:
        nannies = {nanny.worker_address: nanny for nanny in client.cluster.workers.values()}
        while True:
            busy = [address for address, tasks in client.processing().items() if tasks]
            if busy:
                os.kill(nannies[busy[0]].pid, signal.SIGKILL)
                return
            time.sleep(0.005)

    def begin() -> threading.Thread:
        thread = threading.Thread(target=find_and_kill, daemon=True)
        thread.start()
        return thread

    return begin


@pytest.fixture(scope="session")
def X() -> NDArray[np.float32]:  # noqa: N802
    """Six shuffled clusters of different spread, away from the origin."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((6, 24)) * 4 + 3
    spread = np.linspace(0.3, 1.5, 6)
    label = rng.integers(6, size=6000)
    noise = rng.standard_normal((6000, 24)) * spread[label, None]
    return (centers[label] + noise).astype(np.float32)


@pytest.fixture(scope="session")
def remote(X: NDArray[np.float32]) -> da.Array:
    """The same rows in blocks of different lengths, one of them empty; features in two blocks."""
    return da.from_array(X, chunks=((1100, 900, 0, 2500, 1, 1499), (10, 14)))


@pytest.fixture(scope="session")
def slow(remote: da.Array) -> da.Array:
    """The same rows in blocks that take some time to read."""

    def read(block: NDArray[Any]) -> NDArray[Any]:
        time.sleep(0.02)
        return block

    return remote.rechunk((500, 24)).map_blocks(read, dtype=remote.dtype)
