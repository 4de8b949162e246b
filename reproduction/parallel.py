"""Run cases in several processes with one core each, which is faster than one with all cores.

Most of the time of a run is spent in loops that use one core.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from bitfold.errors import MissingDataError
from reproduction.data.loader import DataLoader
from reproduction.experiments.run import run_case
from reproduction.records import Case, RunRecords

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

_load = DataLoader()
"""The data set of this process, kept from one case to the next."""


class FinishedCase(NamedTuple):
    """A case that was run, its duration in seconds, and what is missing if its data are."""

    case: Case
    seconds: float
    problem: str = ""


def run_in_processes(cases: list[Case], path: Path, n_jobs: int) -> Iterator[FinishedCase]:
    """Run cases in processes that add their records to a file; yield each when it is finished.

    Times are left out of the records, because the processes compete for memory.

    Parameters
    ----------
    cases
        The cases, none of which has a record.
    path
        File of the records.
    n_jobs
        Number of processes.

    Yields
    ------
    The finished cases.
    """
    context = multiprocessing.get_context("spawn")
    with _one_thread_per_process():
        pools = [ProcessPoolExecutor(1, mp_context=context) for _ in range(n_jobs)]
        try:
            yield from _collect(
                [pools[choose_process(case, n_jobs)].submit(_run, case, path) for case in cases]
            )
        finally:
            for pool in pools:
                pool.shutdown(wait=True, cancel_futures=True)


def choose_process(case: Case, n_jobs: int) -> int:
    """Return the number of the process for a case.

    Cases with the same base set go to the same process, which chooses it once.
    """
    options = dict(case.options)
    shared = {name: options[name] for name in ("base", "n_base_points") if name in options}
    own = () if shared else (case.method, case.n_bits)
    key = case.data, case.seed, case.n_queries, sorted(shared.items()), own
    return zlib.crc32(repr(key).encode()) % n_jobs


def _collect(futures: list[Future[FinishedCase]]) -> Iterator[FinishedCase]:
    for future in as_completed(futures):
        yield future.result()


def _run(case: Case, path: Path) -> FinishedCase:
    start = time.perf_counter()
    try:
        _open_records(path).run_missing([case], partial(run_case, load=_load, keep_times=False))
    except MissingDataError as error:
        return FinishedCase(case, time.perf_counter() - start, str(error))
    return FinishedCase(case, time.perf_counter() - start)


@cache
def _open_records(path: Path) -> RunRecords:
    return RunRecords(path)


@contextmanager
def _one_thread_per_process() -> Iterator[None]:
    """Let processes that start in this block use one core."""
    before = {name: os.environ.get(name) for name in _THREAD_LIMITS}
    os.environ.update(dict.fromkeys(_THREAD_LIMITS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
