"""Exact neighbors against brute force in float64."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from bitfold.errors import DataError, ParameterError
from bitfold.io import scale_to_unit_length
from bitfold.metrics import (
    closest_neighbors,
)


def brute_force(X: NDArray[Any], Q: NDArray[Any], k: int) -> NDArray[np.int64]:
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    order = [np.argsort(((X - q) ** 2).sum(axis=1), kind="stable") for q in Q]
    return np.array(order)[:, :k]


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64])
@pytest.mark.parametrize("n", [30, 6000])
def test_integers_are_exact_and_ties_go_by_id(kind: type[Any], n: int) -> None:
    rng = np.random.default_rng(0)
    # Few values, so that most distances tie, with an offset that float32 sums would round.
    X = (rng.integers(0, 3, (n, 6)) + 120).astype(kind)
    Q = X[rng.integers(n, size=20)]
    for k in (1, n // 50 + 1, n):
        np.testing.assert_array_equal(closest_neighbors(X, Q, k=k), brute_force(X, Q, k))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_reals_equal_brute_force(kind: type[Any], offset: float) -> None:
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((9000, 40)) + offset).astype(kind)
    Q = (rng.standard_normal((50, 40)) + offset).astype(kind)
    np.testing.assert_array_equal(closest_neighbors(X, Q), brute_force(X, Q, 180))


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 7))
@settings(max_examples=30)
def test_near_ties_below_float32(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X = 1 + 1e-7 * rng.integers(0, 4, (n, d))
    Q = X[:3] + 0.5
    k = int(rng.integers(1, n + 1))
    # All differences are multiples of one step, so brute force over the steps is exact.
    steps = np.rint((X - 1) * 1e7)
    expected = brute_force(steps, steps[:3] + 5e6, k)
    got = closest_neighbors(X, Q, k=k)
    distances = ((steps - steps[:3, None] - 5e6) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        np.take_along_axis(distances, got.astype(int), 1),
        np.take_along_axis(distances, expected, 1),
        rtol=1e-12,
    )


def test_equal_rows_in_different_blocks_tie() -> None:
    rng = np.random.default_rng(2)
    distinct = rng.standard_normal((50, 33)).astype(np.float32)
    X = distinct[rng.integers(50, size=10_000)]
    Q = rng.standard_normal((9, 33)).astype(np.float32)
    np.testing.assert_array_equal(closest_neighbors(X, Q, k=77), brute_force(X, Q, 77))


def test_many_ties() -> None:
    X = np.ones((20_000, 3), np.uint8)
    X[-10:] = 2
    expected = [*range(19_990, 20_000), 0, 1, 2, 3, 4]
    got = closest_neighbors(X, X[-4:], k=15)
    np.testing.assert_array_equal(got, [expected] * 4)


def test_rows_in_descending_order_of_distance() -> None:
    X = np.arange(30_000, 0, -1, dtype=np.float64)[:, None]
    expected = np.arange(29_999, 29_999 - 600, -1)[None]
    np.testing.assert_array_equal(closest_neighbors(X, [[0.0]]), expected)


@pytest.mark.parametrize("block_bytes", [256, 4096, 1 << 16])
def test_any_block_size(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitfold.metrics.ground_truth._BLOCK_BYTES", block_bytes)
    monkeypatch.setattr("bitfold.metrics.ground_truth._QUERIES_PER_BLOCK", 3)
    rng = np.random.default_rng(3)
    X = 1e3 + rng.integers(0, 4, (300, 5)).astype(np.float64)
    Q = X[rng.integers(300, size=8)]
    for k in (1, 20, 150, 300):
        np.testing.assert_array_equal(closest_neighbors(X, Q, k=k), brute_force(X, Q, k))


def test_memory_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.integers(0, 256, (7000, 20), np.uint8)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    expected = closest_neighbors(X, X[:40])
    np.testing.assert_array_equal(closest_neighbors(mapped, mapped[:40]), expected)


def test_one_query_equals_all_at_once() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((5000, 16)).astype(np.float32)
    Q = rng.standard_normal((600, 16)).astype(np.float32)
    together = closest_neighbors(X, Q)
    alone = np.concatenate([closest_neighbors(X, Q[i : i + 1]) for i in range(0, 600, 60)])
    np.testing.assert_array_equal(together[::60], alone)


def test_memory_is_bounded() -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((50_000, 32)).astype(np.float32)
    Q = rng.standard_normal((1500, 32)).astype(np.float32)
    closest_neighbors(X[:100], Q[:2])
    tracemalloc.start()
    try:
        found = closest_neighbors(X, Q, share=0.02)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.shape == (1500, 1000)
    # All pairs would be 300 MB in float32; the answer itself is 6 MB.
    assert peak < 100e6


@pytest.mark.parametrize(("share", "k"), [(0.02, 2), (0.001, 1), (0.015, 2), (1, 120)])
def test_share_of_the_database(share: float, k: int) -> None:
    X = np.arange(120.0)[:, None]
    got = closest_neighbors(X, X[:2], share=share)
    assert got.shape == (2, k)
    assert got.dtype == np.int32


def test_inputs_are_unchanged() -> None:
    X, Q = np.arange(6.0).reshape(3, 2), np.ones((1, 2))
    X.flags["W"] = Q.flags["W"] = False
    assert closest_neighbors(X, Q, k=2).tolist() == [[0, 1]]


X3 = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: closest_neighbors(X3, X3[:, :1]), "queries", 1),
        (lambda: closest_neighbors(X3, X3, k=4), "k", 4),
        (lambda: closest_neighbors(X3, X3, k=0), "k", 0),
        (lambda: closest_neighbors(X3, X3, share=1.5), "share", 1.5),
        (lambda: closest_neighbors(X3, X3, share=0.0), "share", 0.0),
    ],
)
def test_wrong_parameters(call: Callable[[], object], name: str, value: object) -> None:
    with pytest.raises(ParameterError) as error:
        call()
    assert (error.value.name, str(error.value.value)) == (name, str(value))


@pytest.mark.parametrize(
    ("database", "queries", "message"),
    [
        (np.where(X3 == 3, np.nan, X3), X3, "the database .* NaN in row 1"),
        (X3, np.where(X3 == 5, np.inf, X3), "the queries .* row 2"),
        (X3, X3 * 1e25, r"the queries .* 1e\+25 in row 0"),
    ],
)
def test_wrong_values(database: NDArray[Any], queries: NDArray[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        closest_neighbors(database, queries)


def test_cosine_is_the_order_of_unit_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X, Q = rng.standard_normal((3000, 20)), rng.standard_normal((30, 20))
    X *= rng.uniform(0.1, 9, (3000, 1))
    X[7] = 0
    unit, unit_queries = (scale_to_unit_length(Z, "T") for Z in (X, Q))
    expected = brute_force(unit, unit_queries, 60)
    np.testing.assert_array_equal(closest_neighbors(X, Q, k=60, metric="cosine"), expected)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(closest_neighbors(mapped, Q, k=60, metric="cosine"), expected)
    assert not np.array_equal(closest_neighbors(X, Q, k=60), expected)


def test_rows_are_searched_without_a_copy(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((3000, 10)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    rows = np.sort(rng.permutation(3000)[:2000])
    expected = closest_neighbors(X[rows], X[:30], k=25)
    for database in (X, np.load(tmp_path / "rows.npy", mmap_mode="r")):
        got = closest_neighbors(database, X[:30], k=25, rows=rows)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("rows", [[2, 1], [0, 3], [-1, 0], [[0]], [0.0], []])
def test_wrong_rows(rows: Any) -> None:
    with pytest.raises(ParameterError, match="rows of an exact search"):
        closest_neighbors(X3, X3, k=1, rows=rows)


def test_progress_counts_queries() -> None:
    calls: list[tuple[str, int, int]] = []
    closest_neighbors(X3, X3, k=1, progress=lambda *call: calls.append(call))
    assert calls == [("exact neighbors", 3, 3)]
