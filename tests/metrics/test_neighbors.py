"""Euclidean ground truth against brute force in float64; recall against it."""

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

from bitfold.metrics import Relevance, closest_neighbors, recall_at_k
from bitfold.metrics._scan import Scan


def brute_force(X: NDArray[Any], Q: NDArray[Any], k: int) -> NDArray[np.int64]:
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    order = [np.argsort(((X - q) ** 2).sum(axis=1), kind="stable") for q in Q]
    return np.array(order)[:, :k]


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64])
@pytest.mark.parametrize("n", [30, 6000])
def test_integers_are_exact_and_ties_fall_by_id(kind: type[Any], n: int) -> None:
    rng = np.random.default_rng(0)
    # Few values, so that most distances tie, on a base that float32 sums would lose them in.
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
def test_near_ties_that_float32_cannot_tell_apart(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X = 1 + 1e-7 * rng.integers(0, 4, (n, d))
    Q = X[:3] + 0.5
    k = int(rng.integers(1, n + 1))
    # Whole multiples of one step apart: brute force over the steps is exact.
    steps = np.rint((X - 1) * 1e7)
    expected = brute_force(steps, steps[:3] + 5e6, k)
    got = closest_neighbors(X, Q, k=k)
    distances = ((steps - steps[:3, None] - 5e6) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        np.take_along_axis(distances, got.astype(int), 1),
        np.take_along_axis(distances, expected, 1),
        rtol=1e-12,
    )


def test_equal_rows_tie_whatever_block_they_are_in() -> None:
    rng = np.random.default_rng(2)
    distinct = rng.standard_normal((50, 33)).astype(np.float32)
    X = distinct[rng.integers(50, size=10_000)]
    Q = rng.standard_normal((9, 33)).astype(np.float32)
    np.testing.assert_array_equal(closest_neighbors(X, Q, k=77), brute_force(X, Q, 77))


def test_more_ties_than_there_is_room_for() -> None:
    X = np.ones((20_000, 3), np.uint8)
    X[-10:] = 2
    expected = [*range(19_990, 20_000), 0, 1, 2, 3, 4]
    got = closest_neighbors(X, X[-4:], k=15)
    np.testing.assert_array_equal(got, [expected] * 4)


def test_rows_from_far_to_near() -> None:
    X = np.arange(30_000, 0, -1, dtype=np.float64)[:, None]
    expected = np.arange(29_999, 29_999 - 600, -1)[None]
    np.testing.assert_array_equal(closest_neighbors(X, [[0.0]]), expected)


def test_too_low_a_guess_is_made_good(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    n = 40_960
    X = 10 + rng.random((n, 2))
    # All rows that the guess looks at are close, and no other.
    X[np.linspace(0, n - 1, 4096).astype(int)] -= 10
    Q = np.vstack([np.zeros((3, 2)), np.full((2, 2), 10.5)])
    scans: list[int] = []
    collect = Scan._collect

    def spy(self: Scan, *arguments: Any) -> Any:
        scans.append(len(arguments[0]))
        return collect(self, *arguments)

    monkeypatch.setattr(Scan, "_collect", spy)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    np.testing.assert_array_equal(closest_neighbors(X, Q), brute_force(X, Q, 819))
    assert scans == [5, 3]


def test_a_memory_map_gives_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.integers(0, 256, (7000, 20), np.uint8)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    expected = closest_neighbors(X, X[:40])
    np.testing.assert_array_equal(closest_neighbors(mapped, mapped[:40]), expected)


def test_a_query_finds_the_same_alone_and_among_others() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((5000, 16)).astype(np.float32)
    Q = rng.standard_normal((600, 16)).astype(np.float32)
    together = closest_neighbors(X, Q)
    alone = np.concatenate([closest_neighbors(X, Q[i : i + 1]) for i in range(0, 600, 60)])
    np.testing.assert_array_equal(together[::60], alone)


def test_memory_stays_bounded() -> None:
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
def test_a_share_of_the_database(share: float, k: int) -> None:
    X = np.arange(120.0)[:, None]
    got = closest_neighbors(X, X[:2], share=share)
    assert got.shape == (2, k)
    assert got.dtype == np.int32


def test_inputs_are_left_alone() -> None:
    X, Q = np.arange(6.0).reshape(3, 2), np.ones((1, 2))
    X.flags.writeable = Q.flags.writeable = False
    assert closest_neighbors(X, Q, k=2).tolist() == [[0, 1]]


def test_neighbors_make_relevance() -> None:
    X = np.array([[0.0], [3.0], [1.0], [9.0]])
    relevance = Relevance.neighbors(closest_neighbors(X, [[0.1], [8.0]], share=0.5))
    assert [relevance.items(g).tolist() for g in (0, 1)] == [[0, 2], [1, 3]]


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_recall_equals_sets(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    widths = rng.integers(0, 10, 2)
    found, true = (
        np.array([np.where(rng.random(w) < 0.8, rng.permutation(15)[:w], -1) for _ in range(5)])
        for w in widths
    )
    found, true = (
        ids.reshape(5, w).astype(int) for ids, w in zip((found, true), widths, strict=True)
    )
    expected = []
    for row, ids in zip(found, true, strict=True):
        near = set(ids[:k].tolist()) - {-1}
        hits = near & set(row[:k].tolist())
        expected.append(len(hits) / len(near) if near else 0.0)
    np.testing.assert_allclose(recall_at_k(found, true, k), expected)


def test_recall_by_hand() -> None:
    true = [[5, 3, 8], [1, 2, 4]]
    assert recall_at_k([[3, 5, 9], [9, 9, 1]], true, 2).tolist() == [1.0, 0.0]
    np.testing.assert_allclose(recall_at_k([[3, 5, 9], [9, 9, 1]], true, 3), [2 / 3, 1 / 3])
    # Short and padded results lack what they lack; an id found twice counts once.
    np.testing.assert_allclose(recall_at_k([[3], [-1]], true, 3), [1 / 3, 0])
    np.testing.assert_allclose(recall_at_k([[3, 3, 3], [-1, -1, -1]], true, 3), [1 / 3, 0])
    # Short and padded truth is all there is to find; of no truth nothing is found.
    assert recall_at_k([[3, 5, 9], [9, 9, 1]], [[9, -1], [-1, -1]], 3).tolist() == [1.0, 0.0]


X3 = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: closest_neighbors(X3, X3[:, :1]),
            "queries of closest_neighbors must be of 2 features, like the database, got 1.",
        ),
        (
            lambda: closest_neighbors(X3, X3, k=4),
            "k of closest_neighbors must be at most n_rows=3, got 4.",
        ),
        (
            lambda: closest_neighbors(X3, X3, k=0),
            "k of closest_neighbors must be at least 1, got 0.",
        ),
        (
            lambda: closest_neighbors(X3, X3, share=1.5),
            "share of closest_neighbors must be at most 1, got 1.5.",
        ),
        (
            lambda: closest_neighbors(X3, X3, share=0.0),
            "share of closest_neighbors must be a finite number above 0, got 0.0.",
        ),
        (
            lambda: closest_neighbors(np.where(X3 == 3, np.nan, X3), X3),
            "X of the database must be finite, got NaN in row 1.",
        ),
        (
            lambda: closest_neighbors(X3, np.where(X3 == 5, np.inf, X3)),
            "X of the queries must be finite, got infinity or a value too large for float32 "
            "in row 2.",
        ),
        (
            lambda: closest_neighbors(X3, X3 * 1e25),
            "X of the queries must be within ±3.3e+18, for distances to fit float32, "
            "got 1e+25 in row 0.",
        ),
        (
            lambda: recall_at_k([[1]], [[1]], 0),
            "k of recall_at_k must be at least 1, got 0.",
        ),
        (
            lambda: recall_at_k([1], [[1]], 1),
            "found_ids of recall_at_k must be integers of shape (queries, ids), "
            "got int64 of shape (1,).",
        ),
        (
            lambda: recall_at_k([[1]], [[1.0]], 1),
            "true_ids of recall_at_k must be integers of shape (queries, ids), "
            "got float64 of shape (1, 1).",
        ),
        (
            lambda: recall_at_k([[1]], [[1], [2]], 1),
            "found_ids of recall_at_k must be one row for each of the 2 rows of true_ids, got 1.",
        ),
    ],
)
def test_error_sentences(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == sentence
