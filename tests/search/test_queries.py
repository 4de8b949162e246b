"""Asymmetric search against a plain product in float64, and the checks of its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bitfold as bf
from bitfold.errors import ParameterError, ParameterTypeError
from bitfold.hashers import SpH

Bits = NDArray[np.uint8]
SCALES = ("normal", "integers", "extreme", "tiny", "zeros")


def make_embedding(rng: np.random.Generator, n_bits: int, scale: str) -> NDArray[np.float32]:
    """Return three rows of reals."""
    shape = (3, n_bits)
    reals = {
        "normal": rng.standard_normal(shape),
        "integers": rng.integers(-2, 3, shape).astype(float),
        "extreme": rng.choice([-1, 1], shape) * 10 ** rng.uniform(-30, 30, shape),
        "tiny": 1e-44 * rng.standard_normal(shape),
        "zeros": np.zeros(shape),
    }
    return reals[scale].astype(np.float32)


def measure(bits: Bits, embedding: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distances of all codes, one row per query, summed bit by bit."""
    weights = np.abs(embedding.astype(np.float64))[:, None]
    return np.cumsum(np.where(bits != (embedding > 0)[:, None], weights, 0.0), axis=2)[:, :, -1]


def assert_is_oracle(
    hits: bf.search.Hits, distances: NDArray[Any], ids: NDArray[np.int64], k: int
) -> None:
    """Check ids, distances and ties against the distances of all items."""
    assert hits.n_tied is not None
    columns = zip(distances, hits.ids, hits.distances, hits.n_tied, strict=True)
    for row, found, far, n_tied in columns:
        order = np.lexsort((ids, row))[:k]
        assert found.tolist() == ids[order].tolist()
        assert far.tolist() == row[order].astype(far.dtype).tolist()
        assert n_tied == (np.count_nonzero(row == row[order[-1]]) if len(order) else 0)


@dataclass
class Case:
    """An index of several segments with deletions, its live items, and queries."""

    index: bf.HammingIndex
    bits: Bits
    ids: NDArray[np.int64]
    embedding: NDArray[np.float32]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits, n = draw(st.integers(1, 300)), draw(st.integers(1, 90))
    pool = rng.integers(0, 2, (draw(st.integers(1, n)), n_bits), np.uint8)
    bits, ids = pool[rng.integers(0, len(pool), n)], rng.permutation(10 * n)[:n] - 3 * n
    index = bf.HammingIndex(n_bits)
    # Segments that are much smaller than the one before are not merged.
    for part in np.split(np.arange(n), [3 * n // 4, 19 * n // 20]):
        index.add(bf.Codes.from_bits(bits[part]), ids=ids[part])
    is_live = rng.random(n) > draw(st.sampled_from([0, 0.3, 1]))
    index.remove(ids[~is_live])
    embedding = make_embedding(rng, n_bits, draw(st.sampled_from(SCALES)))
    return Case(index, bits[is_live], ids[is_live], embedding)


@settings(max_examples=150, deadline=None)
@given(case=cases(), k=st.sampled_from([1, 2, 7, 30, 200, 257, 1000]))
def test_results_are_those_of_a_float64_product(case: Case, k: int) -> None:
    """k above 256 sorts, so that both kernels are compared."""
    queries = bf.Codes.from_bits(case.embedding > 0)
    hits = case.index.search(queries, k, query_embedding=case.embedding)
    assert hits.distances.dtype == np.float32
    assert_is_oracle(hits, measure(case.bits, case.embedding), case.ids, k)
    hamming = (case.bits != queries.unpack()[:, None]).sum(axis=2)
    assert_is_oracle(case.index.search(queries, k), hamming, case.ids, k)


def test_order_is_that_of_the_dot_product() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (5000, 96), np.uint8)
    embedding = rng.standard_normal((20, 96)).astype(np.float32)
    index = bf.HammingIndex(96)
    index.add(bf.Codes.from_bits(bits))
    hits = index.search(bf.Codes.from_bits(embedding > 0), 50, query_embedding=embedding)
    dots = embedding.astype(np.float64) @ (2.0 * bits - 1).T
    assert np.array_equal(hits.ids, np.argsort(-dots, axis=1, kind="stable")[:, :50])
    total = np.abs(embedding.astype(np.float64)).sum(axis=1, keepdims=True)
    expected = (total - np.take_along_axis(dots, hits.ids, 1)) / 2
    np.testing.assert_allclose(hits.distances, expected, rtol=1e-6)


@pytest.mark.parametrize("k", [10, 300])
def test_any_number_of_threads_and_queries(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    """One query splits the codes over the threads, many split the queries."""
    rng = np.random.default_rng(0)
    # Few distinct values in some columns give ties between the parts.
    bits = rng.integers(0, 2, (140_000, 128), np.uint8)
    bits[:, 10:] &= bits[:1, 10:]
    embedding = np.round(2 * rng.standard_normal((6, 128))).astype(np.float32)
    index, queries = bf.HammingIndex(128), bf.Codes.from_bits(embedding > 0)
    index.add(bf.Codes.from_bits(bits))
    distances, ids = measure(bits, embedding), np.arange(len(bits))
    for n_threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
        for rows in (slice(1), slice(6)):
            hits = index.search(queries[rows], k, query_embedding=embedding[rows])
            assert_is_oracle(hits, distances[rows], ids, k)


def test_vectors_rerank_the_nearest_by_embedding() -> None:
    rng = np.random.default_rng(0)
    X, Q, directions = (rng.standard_normal(s) for s in ((400, 8), (6, 8), (8, 24)))
    index, embedding = bf.HammingIndex(24), Q @ directions
    index.add(bf.Codes.from_bits(X @ directions > 0))
    queries = bf.Codes.from_bits(embedding > 0)
    near = index.search(queries, 20, query_embedding=embedding).ids
    rerank = bf.RerankByVectors(X, Q, n_candidates=20)
    hits = index.search(queries, 5, query_embedding=embedding, rerank=rerank)
    exact = np.linalg.norm(X[near] - Q[:, None], axis=2)
    assert np.array_equal(
        hits.ids, np.take_along_axis(near, np.argsort(exact, axis=1)[:, :5], axis=1)
    )
    assert hits.n_tied is None


REALS = np.array([[1.0, -2.0, 0.0], [-1.0, 2.0, 3.0]], np.float32)


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (REALS * [[1], [np.nan]], "finite, got NaN.* in row 1"),
        (REALS * np.float64(1e39), "finite, got .*too large.* in row 0"),
        (REALS[:, :2], r"of shape \(2, 3\).*got shape \(2, 2\)"),
        (REALS[:1], r"of shape \(2, 3\).*got shape \(1, 3\)"),
        (REALS[0], r"of shape \(2, 3\).*got shape \(3,\)"),
        (-REALS, "got -1 for bit 0 of query 0, which is 1"),
        (np.where(REALS == 0, 1e-30, REALS), "got 1e-30 for bit 2 of query 0, which is 0"),
    ],
)
def test_wrong_embedding(embedding: Any, message: str) -> None:
    index = bf.HammingIndex(3)
    index.add(bf.Codes.from_bits(REALS > 0))
    with pytest.raises(ParameterError, match=f"query_embedding of search must be .*{message}"):
        index.search(bf.Codes.from_bits(REALS > 0), query_embedding=embedding)


@pytest.mark.parametrize("embedding", [REALS.astype(str), REALS > 0, REALS * 1j, [[None] * 3] * 2])
def test_embedding_that_is_not_numeric(embedding: Any) -> None:
    index = bf.HammingIndex(3)
    with pytest.raises(ParameterTypeError, match=r"query_embedding of search .* dtype"):
        index.search(bf.Codes.from_bits(REALS > 0), query_embedding=embedding)


def test_embedding_in_both_arguments() -> None:
    index, rerank = bf.HammingIndex(3), bf.RerankByEmbedding(REALS)
    with pytest.raises(ParameterError, match=r"rerank of search .* got RerankByEmbedding"):
        index.search(bf.Codes.from_bits(REALS > 0), query_embedding=REALS, rerank=rerank)


def test_no_queries_and_an_empty_index() -> None:
    index, nothing = bf.HammingIndex(3), np.empty((0, 3))
    hits = index.search(bf.Codes.from_bits(REALS > 0), query_embedding=REALS)
    assert hits.ids.shape == (2, 0)
    assert hits.distances.dtype == np.float32
    assert hits.n_tied is not None and hits.n_tied.tolist() == [0, 0]
    index.add(bf.Codes.from_bits(REALS > 0))
    hits = index.search(bf.Codes.from_bits(nothing > 0), query_embedding=nothing)
    assert hits.ids.shape == (0, 2)


def test_spherical_search_has_candidates_and_filters() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (80, 24), np.uint8)
    codes, index = bf.Codes.from_bits(bits), bf.HammingIndex(24)
    index.add(codes[:50])
    index.add(codes[50:])
    distances = SpH.distance(codes[:4], codes)
    hits = index.search(codes[:4], 9, distance="spherical")
    assert hits.distances.dtype == np.float32
    assert_is_oracle(hits, distances, np.arange(80), 9)
    kept = np.arange(0, 80, 3)
    among = index.search(codes[:4], 9, distance="spherical", among=kept)
    assert_is_oracle(among, distances[:, kept], kept, 9)
    # With as many candidates as results, re-ranking only changes their order.
    rerank = bf.RerankByVectors(bits, bits[:4], n_candidates=9)
    again = index.search(codes[:4], 9, distance="spherical", rerank=rerank)
    np.testing.assert_array_equal(np.sort(again.ids, axis=1), np.sort(hits.ids, axis=1))


@pytest.mark.parametrize(
    ("arguments", "requirement"),
    [
        ({"distance": "jaccard"}, "one of 'hamming', 'spherical', got 'jaccard'"),
        ({"distance": "spherical", "query_embedding": np.ones((1, 8))}, "query_embedding"),
    ],
)
def test_invalid_distances_raise(arguments: dict[str, Any], requirement: str) -> None:
    index = bf.HammingIndex(8)
    index.add(bf.Codes.from_bits(np.eye(8)))
    with pytest.raises(ParameterError, match=requirement):
        index.search(bf.Codes.from_bits(np.ones((1, 8))), **arguments)
