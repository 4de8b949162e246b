"""Checks of what only stores do: batches, and search by the engine's index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bitfold.codes import Codes
from bitfold.search import Batch, HammingIndex
from bitfold.testing._store_checks.common import (
    assert_equal,
    assert_raises,
    assert_same_results,
    byte_codes,
)


def check_batches_are_one_change(make_store: Callable[[int], Any]) -> None:
    """Batches are added together, or not at all after an error."""
    store, codes = make_store(8), byte_codes(1, 2, 3)
    store.add(codes)
    steps: list[int] = []
    store.add_batches(
        [Batch(None, codes), Batch([20], codes[:1])], lambda stage, done, total: steps.append(done)
    )
    assert_equal(steps, [3, 4], "progress")
    short = Codes(np.zeros((1, 1), np.uint8), 7)
    for subject, last in (
        ("an id of an earlier batch", Batch([21], codes[:1])),
        ("a taken id", Batch([2], codes[:1])),
        ("codes of another length", Batch(None, short)),
    ):
        batches = [Batch(None, codes), last]
        assert_raises(partial(store.add_batches, batches), f"a batch with {subject}")

    def fail() -> Iterator[Batch]:
        yield Batch(None, codes)
        raise KeyError("the caller's own error")

    assert_raises(lambda: store.add_batches(fail()), "a generator that fails", KeyError)
    assert_equal(len(store), 7, "len after errors")
    store.add_batches([])
    store.add(codes[:1])
    assert_equal(store.codes([3, 20, 21]), codes[[0, 0, 0]], "codes")


def check_copies_of_an_index(make_store: Callable[[int], Any]) -> None:
    """The batches of an index fill a store, and those of a store fill an index."""
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(0, 256, (300, 2), np.uint8), 16)
    source, copy, store = HammingIndex(16), HammingIndex(16), make_store(16)
    source.add(codes, ids=rng.permutation(1000)[:300])
    store.add_batches(source.batches())
    for batch in store.batches():
        copy.add(batch.codes, ids=batch.ids)
    expected = source.search(codes[:5], 300)
    assert_same_results(copy.search(codes[:5], 300), expected, "search in the copy")


def check_approximate_search(make_store: Callable[[int], Any]) -> None:
    """``exact=False`` finds near duplicates, reports true distances, and returns k results."""
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(0, 256, (3000, 8), np.uint8), 64)
    queries = Codes(codes.packed[:40] ^ np.array([1, 2, 0, 0, 0, 0, 0, 4], np.uint8), 64)
    store = make_store(64)
    store.add(codes)
    if hasattr(store, "build_index"):
        store.build_index()
    exact, found = store.search(queries, 10), store.search(queries, 10, exact=False)
    assert_equal(found.ids.shape, (40, 10), "shape of approximate results")
    assert_equal(found.distances.dtype, np.dtype(np.int32), "type of distances")
    # The code that a query was made from is much nearer than any other.
    recall = np.mean(found.ids[:, 0] == np.arange(40))
    assert recall > 0.7, f"approximate search must find most near duplicates, got {recall:.0%}"
    distances = np.bitwise_count(codes.words()[found.ids][:, :, 0] ^ queries.words())
    assert np.array_equal(found.distances, distances), "distances must be true distances"
    assert (found.distances >= exact.distances).all(), "no result can be nearer than exact ones"
    approximate = store.search(queries, 3000, exact=False)
    assert_same_results(approximate, store.search(queries, 3000), "approximate search for all")
    # Negative ids are valid, although an engine may use -1 for missing results.
    store.add(queries, ids=-1 - np.arange(40))
    found = store.search(queries, 1, exact=False)
    recall = np.mean(found.ids[:, 0] == -1 - np.arange(40))
    assert recall > 0.7, f"approximate search must find negative ids, got {recall:.0%}"
    assert not found.distances[found.ids < 0].any(), "distances of equal codes must be 0"


def check_context_manager(make_store: Callable[[int], Any]) -> None:
    """A store can be used in a ``with`` statement, and closed twice."""
    with make_store(8) as store:
        store.add(byte_codes(1))
        assert_equal(len(store), 1, "len")
    store.close()


STORE_ONLY_CHECKS: tuple[Callable[[Callable[[int], Any]], None], ...] = (
    check_batches_are_one_change,
    check_copies_of_an_index,
    check_approximate_search,
    check_context_manager,
)
