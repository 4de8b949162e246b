"""The number of base points, chosen from the size and the distribution of the data.

The paper leaves this choice to future work. Here, base sets of growing size are tried on held-out
rows, until a larger one no longer describes their neighborhoods better.
"""

from __future__ import annotations

import math
from typing import Any

import faiss
import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._kernels import base_points
from bitfold._linalg.principal import N_DIRECTIONS, is_wide, randomized_directions
from bitfold._threads import map_rows, serial_blas
from bitfold._types import Float32Array, Int64Array, Seed
from bitfold.base_set.results import BaseSize
from bitfold.io.rows import Rows

MIN_BASE_POINTS = 400
"""Number of base points for data of fewer than 5,000 rows, which are not measured."""

SIZES = (500, 1000, 2000, 4000)
"""Numbers of base points that are tried; docs/larger-base-sets.md compares fixed sizes."""

MIN_ROWS_PER_BASE_POINT = 10
"""With fewer rows per base point, the graph of the base set cannot be counted reliably."""

MIN_GAIN = 0.04
"""A base set twice as large must find this fraction more of the neighbors to be preferred."""

MIN_GROWTH = 1.25
"""The largest size that the rows allow is tried too if it exceeds the others by this factor."""

N_HELD_OUT = 4000
"""Held-out rows whose neighborhoods are compared."""

_N_NEIGHBORS = 10
"""Neighbors of a held-out row that should be found."""

_K = 5
"""Base points that represent a row."""

_BLOCK_ROWS = 500


@serial_blas()
def automatic_size(X: Rows | Any, rng: Seed = None) -> BaseSize:
    """Return the number of base points above which more do not help.

    Held-out rows are represented by their nearest base points, weighted as in Eq. (8). Two rows are
    close if they share base points. The measure is how many of a row's exact nearest neighbors are
    among the rows that are close in this sense: with too few base points, whole regions look alike;
    with too many, neighbors no longer share any. The work does not depend on the number of rows.

    Parameters
    ----------
    X
        Training data.
    rng
        Seed or generator of the held-out rows.

    Returns
    -------
    The number, and how it was chosen.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((1797, 64))
    >>> automatic_size(X)
    BaseSize(n_base_points=400, reason='the minimum; chosen from 1,797 rows')
    """
    rows = _as_rows(X)
    n = len(rows)
    if n <= MIN_BASE_POINTS:
        return BaseSize(n, f"all {n:,} rows")
    if n < SIZES[0] * MIN_ROWS_PER_BASE_POINT:
        return BaseSize(MIN_BASE_POINTS, f"the minimum; chosen from {n:,} rows")
    rng = _validation.make_generator(rng)
    sizes = _list_sizes(n // MIN_ROWS_PER_BASE_POINT)
    held_out, others = _split_sample(rows, sizes[-1], rng)
    found = [neighborhood_recall(held_out, others[: sizes[0]])]
    for size in sizes[1:]:
        found.append(neighborhood_recall(held_out, others[:size]))
        if not _is_worthwhile(sizes, found):
            break
    return _choose_size(sizes, found)


@serial_blas()
def measure_noise(X: Rows | Any, rng: Seed = None) -> float:
    """Return how much of a row the nearest other row leaves unexplained.

    It is near 0 for data in tight clusters or on a curve, and near 1 for noise in many dimensions.
    On MNIST it is 0.37, on sentence vectors 0.65.

    Parameters
    ----------
    X
        Data of at least 2 rows.
    rng
        Seed or generator of the sample.

    Returns
    -------
    The mean squared distance to the nearest of 4,000 other rows, relative to the variance. If
    there are fewer, the nearest is farther away; the result is corrected for that, as for data of
    twelve dimensions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> measure_noise(rng.random((2000, 1)), 0) < 0.01
    True
    >>> measure_noise(rng.random((2000, 50)), 0) > 0.5
    True
    """
    rows = _as_rows(X)
    n_others = min(SIZES[-1], len(rows) // 2)
    held_out, others = _split_sample(rows, n_others, _validation.make_generator(rng))
    variance = float(held_out.var(axis=0, dtype=np.float64).sum())
    nearest = float(map_rows(faiss.knn, held_out, others, 1)[0].mean())
    return nearest / variance * (n_others / SIZES[-1]) ** (1 / 6) if variance > 0 else 0.0


def _as_rows(X: Rows | Any) -> Rows:
    return X if isinstance(X, Rows) else Rows.centered(np.asarray(X), "X")


def _list_sizes(largest: int) -> list[int]:
    """Return the sizes to try, up to the largest that the number of rows allows."""
    sizes = [size for size in SIZES if size <= largest]
    is_far = sizes[-1] * MIN_GROWTH <= largest < SIZES[-1]
    return [*sizes, largest] if is_far else sizes


def _measure_gain(found: list[float]) -> float:
    """Return how much more the last size finds than the one before, as a fraction."""
    return found[-1] / max(found[-2], np.finfo(float).tiny) - 1


def _is_worthwhile(sizes: list[int], found: list[float]) -> bool:
    """Return whether the last size that was tried finds enough more than the one before."""
    at = len(found) - 1
    return _measure_gain(found) >= MIN_GAIN * math.log2(sizes[at] / sizes[at - 1])


def _choose_size(sizes: list[int], found: list[float]) -> BaseSize:
    """Return the last size that was worth its cost, and what the next or the previous finds."""
    at = len(found) - 1
    if at == 0:
        return BaseSize(sizes[0], f"the largest with {MIN_ROWS_PER_BASE_POINT} rows per base point")
    gain = _measure_gain(found)
    neighbors = "of the neighbors of held-out rows"
    if _is_worthwhile(sizes, found):
        lost = 100 * (1 - 1 / (1 + gain))
        return BaseSize(sizes[at], f"{sizes[at - 1]:,} find {lost:.0f} % fewer {neighbors}")
    more = f"only {100 * gain:.0f} % more" if gain >= 0.005 else "no more"
    return BaseSize(sizes[at - 1], f"{sizes[at]:,} find {more} {neighbors}")


def _split_sample(
    rows: Rows, n_others: int, rng: np.random.Generator
) -> tuple[Float32Array, Float32Array]:
    """Return held-out rows and other rows, in random order, reduced if they are wide."""
    n_held_out = min(N_HELD_OUT, len(rows) - n_others)
    sample = rows.sample(n_held_out + n_others, rng)
    if is_wide(rows.n_features):
        sample = sample @ randomized_directions(sample, N_DIRECTIONS).T
    sample = np.ascontiguousarray(sample[rng.permutation(len(sample))])
    return sample[:n_held_out], sample[n_held_out:]


def neighborhood_recall(held_out: Float32Array, base: Float32Array) -> float:
    """Return the fraction of nearest neighbors that are found by sharing base points.

    Parameters
    ----------
    held_out
        Rows that are not in the base set.
    base
        The base set.

    Returns
    -------
    The mean over the held-out rows of the fraction of their ten exact nearest neighbors that are
    among the ten rows with the most similar weights.

    Examples
    --------
    Two far groups of points; each base point represents one of them:

    >>> points = np.repeat([[0.0], [9.0]], 11, axis=0) + np.random.default_rng(0).random((22, 1))
    >>> base = np.array([[0.0], [9.0]])
    >>> neighborhood_recall(points.astype(np.float32), base.astype(np.float32))
    1.0
    """
    weights = _weigh(held_out, base)
    transposed = weights.T.tocsr()
    n_found = 0
    for start in range(0, len(held_out), _BLOCK_ROWS):
        rows = np.arange(start, min(start + _BLOCK_ROWS, len(held_out)))
        exact = _exact_neighbors(held_out, rows)
        similarity = weights[rows] @ transposed
        close = np.empty(exact.shape, np.int64)
        base_points.largest_in_rows(
            similarity.indptr, similarity.indices, similarity.data, start, close
        )
        n_found += int((close[:, :, None] == exact[:, None]).sum())
    return float(n_found / max(len(held_out) * exact.shape[1], 1))


def _exact_neighbors(points: Float32Array, rows: Int64Array) -> Int64Array:
    """Return the nearest points of some of the points, without themselves."""
    k = min(_N_NEIGHBORS, len(points) - 1)
    found = map_rows(faiss.knn, points[rows], points, k + 1)[1]
    # Each point is usually its own nearest; a duplicate may precede it.
    order = np.argsort(found == rows[:, None], axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)[:, :k]


def _weigh(rows: Float32Array, base: Float32Array) -> csr_array:
    """Return the weights of the base points in each row, as in Eq. (8)."""
    k = min(_K, len(base))
    sq_distances, indices = map_rows(faiss.knn, rows, base, k)
    excess = sq_distances - sq_distances[:, :1]
    weights = np.exp(-excess / max(float(excess.mean()), np.finfo(np.float32).tiny))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    starts = np.arange(0, weights.size + 1, k)
    return csr_array((weights.ravel(), indices.ravel(), starts), shape=(len(rows), len(base)))
