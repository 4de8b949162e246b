"""Every store passes the public checks, and returns what brute force returns on random data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.stores.conftest import STORE_KINDS, MakeStore

import bitfold as bf
from bitfold.testing import STORE_CHECKS

Bits = NDArray[np.uint8]
Case = tuple[Bits, NDArray[np.int64], Bits]

every_kind = pytest.mark.parametrize("kind", STORE_KINDS)


@every_kind
@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_store_passes(kind: str, check: Callable[..., None], make_store: MakeStore) -> None:
    check(partial(make_store, kind))


@st.composite
def random_cases(draw: st.DrawFn) -> Case:
    """Draw codes that repeat, ids in random order, and queries near some codes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits = draw(st.sampled_from([1, 3, 8, 20, 63, 64, 65, 150, 1024]))
    n_codes = draw(st.integers(1, 40))
    pool = rng.integers(0, 2, (draw(st.integers(1, n_codes)), n_bits), np.uint8)
    bits = pool[rng.integers(0, len(pool), n_codes)]
    flips = (rng.random((4, n_bits)) < 0.05).astype(np.uint8)
    queries = bits[rng.integers(0, n_codes, 4)] ^ flips
    ids = rng.choice(np.arange(-200, 200), n_codes, replace=False)
    return bits, ids.astype(np.int64), queries


@every_kind
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(case=random_cases(), k=st.integers(1, 50), radius=st.integers(0, 6))
def test_results_match_brute_force(
    kind: str, make_store: MakeStore, case: Case, k: int, radius: int
) -> None:
    bits, ids, queries = case
    store = make_store(kind, bits.shape[1])
    store.add(bf.Codes.from_bits(bits), ids=ids)
    codes = bf.Codes.from_bits(queries)
    hits, near = store.search(codes, k), store.within(codes, radius)
    for i, query in enumerate(queries):
        distances = (bits != query).sum(axis=1)
        order = np.lexsort((ids, distances))
        assert np.array_equal(hits.ids[i], ids[order][:k])
        assert np.array_equal(hits.distances[i], distances[order][:k])
        inside = order[distances[order] <= radius]
        found = slice(near.offsets[i], near.offsets[i + 1])
        assert np.array_equal(near.ids[found], ids[inside])
        assert np.array_equal(near.distances[found], distances[inside])


@every_kind
def test_search_after_every_change_uses_new_codes(kind: str, make_store: MakeStore) -> None:
    """Copies and caches of an engine follow additions and removals."""
    store: Any = make_store(kind, 8)
    codes = bf.Codes(np.arange(6, dtype=np.uint8)[:, None], 8)
    for number in range(3):
        store.add(codes[number : number + 1])
        assert store.search(codes[number : number + 1], 1).ids.tolist() == [[number]]
        assert store.within(codes[number : number + 1], 0).ids.tolist() == [number]
    store.remove([1])
    assert store.search(codes[1:2], 9).ids.tolist() == [[0, 2]]
    assert store.within(codes[1:2], 0).ids.tolist() == []
