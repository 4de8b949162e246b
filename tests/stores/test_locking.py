"""Methods that change a store run one after another; reads wait only if their lock says so."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest

from bitfold._threads import SharedLock
from bitfold.stores.locking import synchronized, synchronized_read


class Counter:
    """Counts calls in a way that loses some if calls overlap."""

    def __init__(self, read_lock: Any) -> None:
        self._lock = SharedLock()
        self._read_lock = read_lock or self._lock
        self.count = 0
        self.is_changing = False

    @synchronized
    def increase(self) -> None:
        """Add one."""
        self.is_changing = True
        old = self.count
        time.sleep(0.002)
        self.count = old + 1
        self.is_changing = False

    @synchronized_read
    def sees_a_change(self) -> bool:
        time.sleep(0.001)
        return self.is_changing


@pytest.mark.parametrize("reads_wait", [True, False])
def test_calls_of_threads(reads_wait: bool) -> None:
    counter = Counter(None if reads_wait else nullcontext())
    with ThreadPoolExecutor(8) as pool:
        changes = [pool.submit(counter.increase) for _ in range(25)]
        seen = list(pool.map(lambda _: counter.sees_a_change(), range(25)))
    assert all(change.done() for change in changes)
    assert counter.count == 25
    assert any(seen) is not reads_wait
    assert Counter.increase.__doc__ == "Add one."
