"""Checks of indexes and stores that several threads share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bitfold.testing._store_checks.common import assert_equal, byte_codes

_N_THREADS = 4
_N_ROUNDS = 5


def check_threads_lose_nothing(make_index: Callable[[int], Any]) -> None:
    """Threads may add, remove and search at the same time: no code is lost or half there."""
    index = make_index(8)
    # An engine with lists needs some codes before a search.
    index.add(byte_codes(*range(16)), ids=np.arange(16) - 100)

    def work(number: int) -> None:
        for turn in range(_N_ROUNDS):
            first = 1000 * number + 2 * turn
            index.add(byte_codes(number, number), ids=[first, first + 1])
            found = index.within(byte_codes(number), 8).ids
            mine = found[(found >= 1000 * number) & (found < 1000 * number + 1000)]
            assert_equal(sorted(mine.tolist()), expected_ids(number, turn), "ids of one thread")
            assert_equal(len(found) % 2, 0, "the remainder of codes that are added in pairs")
            if turn % 2:
                index.remove([first, first + 1])

    def expected_ids(number: int, last: int) -> list[int]:
        turns = [turn for turn in range(last + 1) if turn % 2 == 0 or turn == last]
        return [1000 * number + 2 * turn + i for turn in turns for i in (0, 1)]

    with ThreadPoolExecutor(_N_THREADS) as pool:
        list(pool.map(work, range(_N_THREADS)))
    kept = [i for number in range(_N_THREADS) for i in expected_ids(number, _N_ROUNDS - 1)]
    found = sorted(int(i) for batch in index.batches() for i in batch.ids)
    assert_equal(found, [*range(-100, -84), *kept], "ids after all threads have ended")
    assert_equal(len(index), len(found), "len")


THREAD_CHECKS = (check_threads_lose_nothing,)
