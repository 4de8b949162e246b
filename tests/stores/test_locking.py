"""Methods that change a store run one after another; reads wait only if their lock says so."""

from __future__ import annotations

import threading
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
        self.started, self.may_end = threading.Event(), threading.Event()

    @synchronized
    def increase(self) -> None:
        """Add one."""
        old = self.count
        time.sleep(0.002)
        self.count = old + 1

    @synchronized
    def increase_slowly(self) -> None:
        self.started.set()
        assert self.may_end.wait(60)
        self.count += 1

    @synchronized_read
    def read(self) -> int:
        return self.count


def test_changes_do_not_overlap() -> None:
    counter = Counter(None)
    with ThreadPoolExecutor(8) as pool:
        for change in [pool.submit(counter.increase) for _ in range(25)]:
            change.result()
    assert counter.count == 25
    assert Counter.increase.__doc__ == "Add one."


@pytest.mark.parametrize("reads_wait", [True, False])
def test_reads_during_a_change(reads_wait: bool) -> None:
    counter = Counter(None if reads_wait else nullcontext())
    with ThreadPoolExecutor(2) as pool:
        change = pool.submit(counter.increase_slowly)
        assert counter.started.wait(60)
        reading = pool.submit(counter.read)
        if reads_wait:
            time.sleep(0.05)
            assert not reading.done()
        else:
            assert reading.result(60) == 0
        counter.may_end.set()
        change.result(60)
        assert reading.result(60) == (1 if reads_wait else 0)
