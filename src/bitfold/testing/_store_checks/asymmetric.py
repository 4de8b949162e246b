"""Checks of search by the query's embedding, and of the number of ties."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bitfold._types import AnyArray, Float32Array, Float64Array, Ids, UInt8Array
from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.search import RerankByEmbedding, RerankByVectors
from bitfold.testing._store_checks.common import assert_equal, assert_raises, random_items


def check_query_embedding(make_index: Callable[[int], Any]) -> None:
    """Results are those of a dot product with every code, if there are up to 200 codes."""
    for seed, n_bits in enumerate((1, 8, 30, 64, 65, 150)):
        bits, ids, embedding = _random_embedding(n_bits, 10 + 30 * seed, seed)
        index, queries = make_index(n_bits), Codes.from_bits(embedding > 0)
        index.add(Codes.from_bits(bits), ids=ids)
        distances = _measure(bits, embedding)
        for k in (1, 9, len(ids) + 1):
            found = index.search(queries, k, query_embedding=embedding)
            order = [np.lexsort((ids, row))[:k] for row in distances]
            expected = np.take_along_axis(distances, np.array(order), 1).astype(np.float32)
            subject = f"search by embedding with k={k}, {n_bits} bits"
            assert_equal(found.ids.tolist(), ids[order].tolist(), f"ids of {subject}")
            assert_equal(found.distances.dtype, np.dtype(np.float32), "type of distances")
            assert_equal(found.distances.tolist(), expected.tolist(), f"distances of {subject}")


def _random_embedding(n_bits: int, n_items: int, seed: int) -> tuple[UInt8Array, Ids, Float32Array]:
    """Return codes that repeat, ids, and reals, some of which are zero or equal."""
    bits, ids, queries = random_items(n_bits, n_items, seed)
    reals = np.random.default_rng(seed).standard_normal(queries.shape).astype(np.float32)
    reals[0], reals[1] = 0, np.sign(reals[1])
    return bits, ids, reals


def _measure(bits: UInt8Array, embedding: Float32Array) -> Float64Array:
    """Return the sum of ``|embedding|`` over the bits that differ, one row per query."""
    differs = bits != (embedding > 0)[:, None]
    distances: Float64Array = np.cumsum(differs * np.abs(embedding.astype(float))[:, None], 2)
    return distances[:, :, -1]


def check_query_embedding_and_vectors(make_index: Callable[[int], Any]) -> None:
    """Vectors re-rank the nearest codes by embedding."""
    rng = np.random.default_rng(0)
    X, Q, directions = (rng.standard_normal(s) for s in ((150, 6), (5, 6), (6, 20)))
    index, embedding = make_index(20), Q @ directions
    index.add(Codes.from_bits(X @ directions > 0))
    queries = Codes.from_bits(embedding > 0)
    near = index.search(queries, 12, query_embedding=embedding).ids
    rerank = RerankByVectors(X, Q, n_candidates=12)
    found = index.search(queries, 3, query_embedding=embedding, rerank=rerank)
    exact = np.linalg.norm(X[near] - Q[:, None], axis=2)
    expected = np.take_along_axis(near, np.argsort(exact, axis=1)[:, :3], 1)
    assert_equal(found.ids.tolist(), expected.tolist(), "ids after re-ranking by vectors")
    assert_equal(found.n_tied, None, "n_tied after re-ranking")


def check_query_embedding_errors(make_index: Callable[[int], Any]) -> None:
    """An embedding that is not that of the query codes raises ParameterError."""
    index, reals = make_index(4), np.array([[1.0, -2.0, 3.0, -4.0], [-1.0, 2.0, 0.0, 4.0]])
    queries = Codes.from_bits(reals > 0)
    index.add(queries)
    wrong: dict[str, Any] = {
        "NaN": np.where(reals == 2, np.nan, reals),
        "infinity": np.where(reals == 2, np.inf, reals),
        "values too large for float32": reals * 1e300,
        "too few columns": reals[:, :3],
        "too few rows": reals[:1],
        "strings": reals.astype(str),
        "None inside": [[None] * 4] * 2,
        "rows of different lengths": [[1.0], [1.0, 2.0]],
        "other signs": -reals,
        "a positive value where the bit is 0": np.where(reals == 0, 1e-9, reals),
    }
    for subject, embedding in wrong.items():
        call = partial(index.search, queries, 1, query_embedding=embedding)
        assert_raises(call, f"query_embedding with {subject}", ParameterError)
    both = partial(index.search, query_embedding=reals, rerank=RerankByEmbedding(reals))
    assert_raises(lambda: both(queries, 1), "an embedding in both arguments", ParameterError)


def check_ties_are_counted(make_index: Callable[[int], Any]) -> None:
    """``n_tied`` is the number of items at the last distance, or None if it is not counted."""
    bits, ids, embedding = _random_embedding(12, 150, seed=3)
    index, queries = make_index(12), Codes.from_bits(embedding > 0)
    index.add(Codes.from_bits(bits), ids=ids)
    index.remove(ids[::4])
    kept = np.delete(bits, np.s_[::4], axis=0)
    hamming = (kept != (embedding > 0)[:, None]).sum(axis=2)
    for k in (1, 5, 40, 500):
        _assert_counts(index.search(queries, k).n_tied, hamming, k)
        by_embedding = index.search(queries, k, query_embedding=embedding)
        _assert_counts(by_embedding.n_tied, _measure(kept, embedding), k)


def _assert_counts(n_tied: Any, distances: AnyArray, k: int) -> None:
    if n_tied is not None:
        last = np.sort(distances, axis=1)[:, :k][:, -1:]
        expected = np.count_nonzero(distances == last, axis=1)
        assert_equal(n_tied.tolist(), expected.tolist(), f"n_tied with k={k}")


ASYMMETRIC_CHECKS: tuple[Callable[[Callable[[int], Any]], None], ...] = (
    check_query_embedding,
    check_query_embedding_and_vectors,
    check_query_embedding_errors,
    check_ties_are_counted,
)
