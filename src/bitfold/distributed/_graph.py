"""Pieces of Dask graphs: one node for what all tasks share, ordered streams, ordered reductions.

Everything here goes through Dask's own ``persist`` and ``compute``, so that it runs wherever the
user's Dask runs: on the current client's cluster, and without one on the threads of this process.
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

_FAN_IN = 8
"""Results that are combined by one task."""


def call(function: Callable[..., Any], *arguments: Any) -> Delayed:
    """Return the task of one call; its arguments may be other tasks."""
    return delayed(function, pure=False, traverse=False)(*arguments)


def shared(value: Any, kind: str) -> Delayed:
    """Return a value as one node of the graph, named by its content.

    Tasks name the node instead of carrying the value, so each worker is given it once. Unlike
    scattered data it is part of the graph: where a worker died, it is sent again.
    """
    return delayed(value, name=f"bitfold-{kind}-{tokenize(value)}", traverse=False)


def sent(value: Any, kind: str) -> Delayed:
    """Return a shared value that is on the cluster already, for graphs that are run at once."""
    # Dask warns of graphs beyond 10 MB, because most repeat something; this one is the value.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return shared(value, kind).persist()


def in_order(tasks: Sequence[Delayed]) -> Iterator[Any]:
    """Compute tasks and yield their results in order; only some are waited for at a time."""
    size = _batch()
    waiting: deque[Delayed] = deque()
    for first in range(0, len(tasks), size):
        waiting.extend(dask.persist(*tasks[first : first + size]))
        while len(waiting) > size:
            yield waiting.popleft().compute()
    while waiting:
        yield waiting.popleft().compute()


def reduce(
    leaves: Sequence[Delayed], combine: Callable[..., Any], on_step: StepCallback | None = None
) -> Any:
    """Combine the results of tasks on the workers; ``combine`` is given some in their order.

    The tree is fixed by the order of the tasks alone: who computed what, and when, changes no bit.
    """
    *leaves, root = dask.persist(*leaves, _tree(list(leaves), combine))
    futures, total = distributed.futures_of(leaves), len(leaves)
    del leaves  # a result is given up as soon as it has been combined
    if on_step:
        for done, future in enumerate(distributed.as_completed(futures) if futures else ()):
            if future.status == "error":
                break
            on_step(done + 1, total)
        if not futures:
            on_step(total, total)
    del futures
    return root.compute()


def _tree(tasks: list[Delayed], combine: Callable[..., Any]) -> Delayed:
    while len(tasks) > 1:
        groups = [tasks[i : i + _FAN_IN] for i in range(0, len(tasks), _FAN_IN)]
        tasks = [call(combine, *group) if len(group) > 1 else group[0] for group in groups]
    return tasks[0]


def _batch() -> int:
    """How many tasks are handed over together: enough for all threads of the cluster."""
    try:
        client = distributed.get_client()
    except ValueError:
        return 1
    return max(8, 2 * int(sum(client.nthreads().values())))
