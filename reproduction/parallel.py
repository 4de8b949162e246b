"""Run cases in several processes with one core each, which is faster than one with all cores.

Most of the time of a run is spent in loops that use one core.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from bitfold.errors import MissingDataError
from reproduction.columns import find_column
from reproduction.data.loader import DataLoader
from reproduction.experiments.estimates import Durations
from reproduction.experiments.neighbor_cache import share_neighbors
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
            processes = assign_processes(cases, n_jobs, Durations(RunRecords(path)))
            yield from _collect(
                [
                    pools[process].submit(_run, case, path)
                    for case, process in zip(cases, processes, strict=True)
                ]
            )
        finally:
            for pool in pools:
                pool.shutdown(wait=True, cancel_futures=True)


def assign_processes(cases: list[Case], n_jobs: int, durations: Durations) -> list[int]:
    """Return the number of the process for each case.

    Cases with the same base set go to one process, which chooses it once. Otherwise a case goes to
    the process that would be free first.
    """
    process_of: dict[tuple[object, ...], int] = {}
    seconds = [0.0] * n_jobs
    totals: dict[tuple[object, ...], float] = defaultdict(float)
    for case in cases:
        totals[_find_base_set(case)] += durations.estimate(case)
    for group, total in totals.items():
        process_of[group] = seconds.index(min(seconds))
        seconds[process_of[group]] += total
    return [process_of[_find_base_set(case)] for case in cases]


def _find_base_set(case: Case) -> tuple[object, ...]:
    """Return what the base set of a case depends on; all of a case without one."""
    options = dict(case.options)
    shared = {name: options[name] for name in ("base", "n_base_points") if name in options}
    own = find_column(case.method) if shared else (case.method, case.n_bits)
    return case.data, case.seed, case.n_queries, case.n_rows, tuple(sorted(shared.items())), own


def _collect(futures: list[Future[FinishedCase]]) -> Iterator[FinishedCase]:
    for future in as_completed(futures):
        yield future.result()


def _run(case: Case, path: Path) -> FinishedCase:
    share_neighbors()
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
