"""A worker that is killed during its work does not change the results."""

from __future__ import annotations

import threading
from collections.abc import Callable

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import bitfold as bf
from bitfold import distributed
from bitfold.hashers import ITQ, PCAH
from distributed import Client

FloatArray = NDArray[np.float32]
Kill = Callable[[], threading.Thread]


class Killer:
    """A progress callback that kills a worker as soon as a stage has done some steps."""

    def __init__(self, kill: Kill, stage: str, done: int) -> None:
        self.kill, self.stage, self.done = kill, stage, done
        self.thread: threading.Thread | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == self.stage and done >= self.done and self.thread is None:
            self.thread = self.kill()

    def assert_killed(self) -> None:
        assert self.thread is not None
        self.thread.join(timeout=10)
        assert not self.thread.is_alive()


def test_fit_survives(client: Client, slow: da.Array, kill_busy_worker: Kill) -> None:
    """Rows, seeding states and half a pass are lost."""
    base = distributed.DaskKMeansBase(30, max_iter=8)
    hasher = bf.IMH(8, base=base, embedding="pca", random_state=0)
    with dask.config.set(scheduler="synchronous"):
        expected = distributed.fit(clone(hasher), slow)
    killer = Killer(kill_busy_worker, "base set", 3)
    found = distributed.fit(hasher, slow.persist(), progress=killer)
    killer.assert_killed()
    for key in expected._fitted_arrays:
        assert np.array_equal(getattr(expected, key), getattr(found, key)), key


def test_pass_over_the_rows_survives(
    client: Client, X: FloatArray, slow: da.Array, kill_busy_worker: Kill
) -> None:
    """Parts of the covariance are lost."""
    killer = Killer(kill_busy_worker, "mean", 6000)
    found = distributed.fit(PCAH(20), slow, progress=killer)
    killer.assert_killed()
    assert np.array_equal(found.directions_, PCAH(20).fit(X).directions_)


def test_collect_survives_and_can_be_repeated(
    client: Client, X: FloatArray, slow: da.Array, kill_busy_worker: Kill
) -> None:
    hasher = ITQ(20, random_state=0).fit(X)
    codes = distributed.encode(hasher, slow)
    killer = kill_busy_worker()
    assert distributed.collect(codes, 20) == hasher.encode(X)
    killer.join(timeout=10)
    assert not killer.is_alive()
    client.wait_for_workers(2, timeout=60)
    assert np.array_equal(codes.compute(), hasher.encode(X).packed)
