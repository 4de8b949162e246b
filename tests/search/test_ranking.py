"""Ranking by insertion and by counting against brute force: ids, distances and ties."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bitfold as bf
from bitfold.search import Hits, ranking

N_BITS = [1, 3, 20, 64, 65, 128, 150, 256, 1024]


def measure(bits: NDArray[np.uint8], reals: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sum of the absolute reals over the bits that differ, one row per query."""
    weights = np.abs(reals.astype(np.float64))
    rows = [np.cumsum((bits != (row > 0)) * w, axis=1)[:, -1] for row, w in zip(
        reals, weights, strict=True)]  # fmt: skip
    return np.array(rows)


def measure_spherical(bits: NDArray[np.uint8], query: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the bits that differ, divided by those that are 1 in both."""
    n_one, n_both = (bits != query).sum(axis=1), (bits & query).sum(axis=1)
    distances: NDArray[np.float64] = n_one / np.maximum(n_both, 1 / bits.shape[1])
    return distances


def rank(distances: NDArray[Any], ids: NDArray[np.int64], k: int) -> Hits:
    """Return the hits of brute force."""
    order = np.array([np.lexsort((ids, row))[:k] for row in distances])
    near = np.take_along_axis(distances, order, 1)
    return Hits(ids[order], near, np.count_nonzero(distances == near[:, -1:], axis=1))


def assert_equal_hits(found: Hits, expected: Hits) -> None:
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances.astype(found.distances.dtype))
    np.testing.assert_array_equal(found.n_tied, expected.n_tied)


def assert_exact(bits: Any, ids: Any, reals: Any, k: int, deleted: Any = ()) -> None:
    """Compare all kinds of search with brute force, by both kinds of kernels."""
    index, queries = bf.HammingIndex(bits.shape[1]), bf.Codes.from_bits(reals > 0)
    index.add(bf.Codes.from_bits(bits), ids=ids)
    index.remove(ids[deleted] if len(deleted) else [])
    kept = np.setdiff1d(np.arange(len(ids)), deleted)
    bits, ids = bits[kept], ids[kept]
    hamming = np.array([(bits != query).sum(axis=1) for query in queries.unpack()])
    spherical = np.array([measure_spherical(bits, query) for query in queries.unpack()])
    expected = [rank(distances, ids, k) for distances in (hamming, measure(bits, reals), spherical)]
    for largest in (0, 300):
        with patch.object(ranking, "_MAX_K_BY_INSERTION", largest):
            assert_equal_hits(index.search(queries, k), expected[0])
            found = index.search(queries, k, query_embedding=reals)
            assert_equal_hits(found, expected[1])
            assert_equal_hits(index.search(queries, k, distance="spherical"), expected[2])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits, n = draw(st.sampled_from(N_BITS)), draw(st.sampled_from([1, 5, 60, 700]))
    n_codes = draw(st.sampled_from([1, 3, n]))
    pool = rng.integers(0, 2, (min(n_codes, n), n_bits), np.uint8)
    bits = pool[rng.integers(0, len(pool), n)]
    ids = rng.permutation(n).astype(np.int64) - 3
    reals = rng.standard_normal((3, n_bits)).astype(np.float32)
    reals[0] = np.where(bits[0] == 1, 1, -1)  # many ties
    reals[1] *= draw(st.sampled_from([0.0, 1.0]))
    deleted = np.flatnonzero(rng.random(n - 1) < draw(st.sampled_from([0, 0.4])))
    return bits, ids, reals, draw(st.sampled_from([1, 2, 7, 40, 300, 1000])), deleted


@given(cases())
@settings(max_examples=60, deadline=None)
def test_every_kernel_equals_brute_force(case: tuple[Any, ...]) -> None:
    assert_exact(*case)


@pytest.mark.parametrize("n_words", [1, 3])
@pytest.mark.parametrize("n_codes", [18_000, 900])
def test_large_k_among_many_codes(n_words: int, n_codes: int) -> None:
    rng = np.random.default_rng(n_codes)
    pool = rng.integers(0, 2, (n_codes, 64 * n_words - 5), np.uint8)
    bits = pool[rng.integers(0, n_codes, 18_000)] if n_codes < 18_000 else pool
    reals = rng.standard_normal((3, bits.shape[1])).astype(np.float32)
    reals[0] = np.sign(reals[0])
    ids = np.arange(18_000)
    for k in (60, 9000):
        assert_exact(bits, ids, reals, k)
    assert_exact(bits, ids, reals, 1000, rng.permutation(18_000)[:4000])


def test_a_sample_that_is_nearer_than_the_rest() -> None:
    # The first chunk of each 64 is the sample; here only it has codes near the query.
    rng = np.random.default_rng(0)
    bits = np.ones((18_000, 64), np.uint8)
    bits[:, :20] = rng.integers(0, 2, (18_000, 20))
    for start in range(0, 18_000, 64 * 256):
        bits[start : start + 50] = rng.random((50, 64)) < 0.1
    reals = -np.abs(rng.standard_normal((2, 64))).astype(np.float32)
    assert_exact(bits, np.arange(18_000), reals, 400)


def test_more_equal_codes_than_results() -> None:
    bits = np.zeros((5000, 9), np.uint8)
    bits[4000:, 0] = 1
    reals = np.full((2, 9), -1, np.float32)
    for k in (3, 60, 900, 4500):
        assert_exact(bits, np.arange(5000), reals, k)
        assert_exact(bits, np.arange(5000), reals, k, np.arange(0, 5000, 5)[: 5000 - k])
