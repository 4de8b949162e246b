"""The embedding of a row does not depend on the batch it is part of, bit for bit."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bitfold.induction import induce
from bitfold.io.rows import Rows
from bitfold.neighbors import NearestBasePoints

FloatArray = NDArray[np.float32]


class Problem(NamedTuple):
    """Stored rows, and a base set relative to their center."""

    rows: Rows
    base: NearestBasePoints
    embedding: FloatArray


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return rows near a base set; numpy draws them, hypothesis chooses what is unusual."""
    d = draw(st.one_of(st.integers(1, 40), st.integers(1, 2000)))
    m = draw(st.one_of(st.integers(1, 70), st.integers(1, 500)))
    k = draw(st.one_of(st.integers(1, min(m, 10)), st.integers(1, m)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.standard_normal((draw(st.integers(1, 60)), d)) * draw(st.sampled_from([1, 30]))
    dtype: Any = draw(st.sampled_from([np.uint8, np.float32, np.float64]))
    X = np.clip(X + 128, 0, 255) if dtype is np.uint8 else X + draw(st.sampled_from([0, 1e4]))
    stored = X.astype(dtype)
    rows = Rows.centered(stored, "T")
    B = rows.block(0, len(X))[rng.integers(len(X), size=m)]
    if draw(st.booleans()):  # else all base points are rows, and many of them equal
        B = B + rng.standard_normal(B.shape).astype(np.float32)
    if draw(st.booleans()) and dtype is not np.uint8:
        stored[rng.integers(len(X))] *= draw(st.sampled_from([1e3, 1e10, 1e18, 1e30]))
    return Problem(
        rows,
        NearestBasePoints(B, k),
        rng.standard_normal((m, draw(st.integers(1, 70)))).astype(np.float32),
    )


@settings(max_examples=150)
@given(problems(), st.data())
def test_one_row_at_a_time_equals_all_at_once(problem: Problem, data: st.DataObject) -> None:
    rows, base, embedding = problem
    n = len(rows)
    bandwidth = data.draw(st.sampled_from([0.1, 1.0, 100.0]))
    cuts = data.draw(st.lists(st.integers(0, n), max_size=4).map(sorted))

    def induced(bounds: list[int]) -> NDArray[np.uint32]:
        parts = [
            induce(base.find(rows.block(start, stop)), embedding, bandwidth)
            for start, stop in itertools.pairwise(bounds)
        ]
        return np.concatenate(parts).view(np.uint32)

    whole = induced([0, n])
    assert np.isfinite(whole.view(np.float32)).all()
    np.testing.assert_array_equal(induced(list(range(n + 1))), whole)
    np.testing.assert_array_equal(induced([0, *cuts, n]), whole)


@given(problems())
def test_neighbors_are_nearest_within_rounding(problem: Problem) -> None:
    X = problem.rows.block(0, len(problem.rows))
    B, k = problem.base.points, problem.base.k
    found = problem.base.find(X)
    distances = cdist(X.astype(np.float64), B.astype(np.float64), "sqeuclidean")
    expected = np.sort(distances, axis=1)[:, :k]
    got = np.take_along_axis(distances, found.indices.astype(np.int64), axis=1)
    # The rounding of float32 sums of d terms.
    loose = {"rtol": 2e-7 * (X.shape[1] + 10), "atol": 1e-30}
    np.testing.assert_allclose(got, expected, **loose)
    np.testing.assert_allclose(found.sq_distances, expected, **loose)
    assert (np.diff(found.sq_distances, axis=1) >= 0).all()
    assert all(len(set(row)) == k for row in found.indices.tolist())


@given(st.integers(1, 12), st.integers(1, 150), st.integers(1, 150), st.integers(0, 2**32))
def test_whole_numbers_tie_exactly_and_go_by_index(d: int, m: int, k: int, seed: int) -> None:
    # With small whole numbers float32 does not round, and there is only one answer.
    rng = np.random.default_rng(seed)
    B, X = (rng.integers(-2, 3, (rows, d)).astype(np.float32) for rows in (m, 20))
    found = NearestBasePoints(B, k).find(X)
    distances = ((X[:, None] - B) ** 2).sum(axis=2)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found.indices, expected)
    np.testing.assert_array_equal(
        found.sq_distances, np.take_along_axis(distances, expected, axis=1)
    )
