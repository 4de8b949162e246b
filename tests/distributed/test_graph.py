"""Ordered results and reductions, on the threads of this process."""

from __future__ import annotations

import pytest

from bitfold.distributed._graph import compute_in_order, make_task, reduce_in_order, send


@pytest.mark.parametrize("n_tasks", [1, 7, 8, 9, 65])
def test_results_are_in_order(n_tasks: int) -> None:
    tasks = [make_task(str, number) for number in range(n_tasks)]
    expected = [str(number) for number in range(n_tasks)]
    assert list(compute_in_order(tasks)) == expected
    steps: list[tuple[int, int]] = []
    # Joining strings depends on the order.
    joined = reduce_in_order(tasks, lambda *parts: " ".join(parts), lambda *s: steps.append(s))
    assert joined == " ".join(expected)
    assert steps[-1] == (n_tasks, n_tasks)


def test_tasks_use_a_shared_value() -> None:
    shared = send([1, 2, 3], "numbers")
    tasks = [make_task(lambda values, i: values[i], shared, i) for i in range(3)]
    assert list(compute_in_order(tasks)) == [1, 2, 3]
    assert send([1, 2, 3], "numbers").key == shared.key
