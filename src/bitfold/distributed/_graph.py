"""Dask graphs: tasks, values that all tasks share, ordered results, ordered reductions.

Everything here uses Dask's own ``persist`` and ``compute``, so it runs on the cluster of the
current client, or on the threads of this process if there is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dask
from dask.base import tokenize
from dask.delayed import Delayed, delayed

import distributed
from bitfold._types import StepCallback

_N_COMBINED = 8
"""Number of results that one task of a reduction combines."""


def make_task(function: Callable[..., Any], *arguments: Any) -> Delayed:
    """Return the task of one call; arguments may be other tasks."""
    return delayed(function, pure=False, traverse=False)(*arguments)


def share(value: Any, kind: str) -> Delayed:
    """Return a value as one node of the graph, named by its content.

    Tasks refer to the node instead of containing the value, so each worker receives it once. Unlike
    scattered data it is part of the graph: after the death of a worker it is sent again.
    """
    return delayed(value, name=f"bitfold-{kind}-{tokenize(value)}", traverse=False)


def send(value: Any, kind: str) -> Delayed:
    """Return a shared value that is already on the cluster, for graphs that run immediately."""
    # Dask warns about graphs of more than 10 MB, because most contain a value many times.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return share(value, kind).persist()


def compute_in_order(tasks: Sequence[Delayed]) -> Iterator[Any]:
    """Compute tasks and yield their results in order; a limited number runs at a time."""
    size = _count_concurrent_tasks()
    running: deque[Delayed] = deque()
    for first in range(0, len(tasks), size):
        running.extend(dask.persist(*tasks[first : first + size]))
        while len(running) > size:
            yield running.popleft().compute()
    while running:
        yield running.popleft().compute()


def reduce_in_order(
    leaves: Sequence[Delayed], combine: Callable[..., Any], on_step: StepCallback | None = None
) -> Any:
    """Combine the results of tasks on the workers; ``combine`` receives some of them in order.

    The tree depends on the order of the tasks alone, so the result is the same bit for bit,
    whichever worker computes what, and when.
    """
    *leaves, root = dask.persist(*leaves, _build_tree(list(leaves), combine))
    futures, total = distributed.futures_of(leaves), len(leaves)
    del leaves  # release each result as soon as it is combined
    if on_step:
        for done, future in enumerate(distributed.as_completed(futures) if futures else ()):
            if future.status == "error":
                break
            on_step(done + 1, total)
        if not futures:
            on_step(total, total)
    del futures
    return root.compute()


def _build_tree(tasks: list[Delayed], combine: Callable[..., Any]) -> Delayed:
    while len(tasks) > 1:
        groups = [tasks[i : i + _N_COMBINED] for i in range(0, len(tasks), _N_COMBINED)]
        tasks = [make_task(combine, *group) if len(group) > 1 else group[0] for group in groups]
    return tasks[0]


def _count_concurrent_tasks() -> int:
    """Return the number of tasks that keep all threads of the cluster busy."""
    try:
        client = distributed.get_client()
    except ValueError:
        return 1
    return max(8, 2 * int(sum(client.nthreads().values())))
