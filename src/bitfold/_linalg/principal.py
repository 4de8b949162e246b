"""Covariances, principal directions and projections of any number of rows."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import randomized_svd

from bitfold import _validation
from bitfold._linalg.spectral import largest_eigenvectors
from bitfold._threads import map_blocks
from bitfold._types import Float32Array, Float64Array, Int64Array
from bitfold.io.rows import Rows

N_DIRECTIONS = 64
"""Number of principal directions that wide data are projected onto; distances hardly change."""

_BLOCK_BYTES = 16 << 20
"""Blocks are longer than elsewhere, because each adds a square matrix."""


def n_bits_within_features(n_bits: int | None, rows: Rows) -> int:
    """Check a code length that is at most n_features; None is 64, or n_features if smaller."""
    d = rows.n_features
    return _validation.check_n_bits(n_bits, rows.owner, d, why=f"n_features={d}")


def covariance(rows: Rows, among: Int64Array | None = None) -> Float64Array:
    """Return the covariance of the features in one pass, over all rows or those in ``among``."""
    d = rows.n_features
    step = _block_rows(d)

    def sum_block(values: Float32Array, start: int) -> tuple[Float32Array, Float64Array]:
        if among is not None:
            first, last = np.searchsorted(among, (start, start + step))
            if last - first < len(values):
                values = values[among[first:last] - start]
        return values.T @ values, values.sum(axis=0, dtype=np.float64)

    squares, total = np.zeros((d, d)), np.zeros(d)
    for _, (square, part) in rows.map(sum_block, step):
        squares += square
        total += part
    # Rows are relative to their mean rounded to float32, so their own mean is not quite zero.
    n = len(rows) if among is None else len(among)
    mean = total / n
    squares /= n
    squares -= np.outer(mean, mean)
    return squares


def principal_directions(rows: Rows, n: int) -> Float64Array:
    """Return the n unit directions of largest variance, one per row, in descending order."""
    return np.ascontiguousarray(largest_eigenvectors(covariance(rows), n).vectors.T)


def is_wide(n_features: int) -> bool:
    """Return whether reducing vectors to their leading principal directions saves much."""
    return n_features > 2 * N_DIRECTIONS


def randomized_directions(points: Float32Array, n: int) -> Float32Array:
    """Return n approximate right singular vectors, one per row; equal points give equal results."""
    _, _, directions = randomized_svd(points, n, random_state=0)
    return np.ascontiguousarray(directions, np.float32)


def project_sample(
    rows: Rows,
    directions: Float64Array | Float32Array,
    max_rows: int,
    rng: np.random.Generator,
    among: Int64Array | None = None,
) -> Float32Array:
    """Return the coordinates of a sample along the directions.

    Rows are read block by block, so that only their coordinates are in memory.

    Parameters
    ----------
    rows
        Rows to sample from.
    directions
        One direction per row.
    max_rows
        Size of the sample; all rows if there are fewer.
    rng
        Generator of the sample.
    among
        Ascending numbers of the rows to sample from; None is all rows.

    Returns
    -------
    One row per sampled row, one column per direction.
    """
    W = np.ascontiguousarray(directions.T, np.float32)
    n_all = len(rows) if among is None else len(among)
    n = min(n_all, max_rows)
    chosen = None if n == n_all else np.sort(rng.choice(n_all, n, replace=False))
    if among is not None and len(among) < len(rows):
        chosen = among if chosen is None else among[chosen]
    step = _block_rows(rows.n_features)

    def read(start: int) -> Float32Array:
        stop = min(start + step, n)
        return rows.block(start, stop) if chosen is None else rows.take(chosen[start:stop])

    out = np.empty((n, W.shape[1]), np.float32)
    starts = range(0, n, step)
    # Rows are read in order, outside the pool: a source that only reads forward is read once.
    parts = map_blocks(lambda values: values @ W, map(read, starts))
    for start, part in zip(starts, parts, strict=True):
        out[start : start + len(part)] = part
    return out


def _block_rows(n_features: int) -> int:
    return int(np.clip(_BLOCK_BYTES // (4 * n_features), 64, 4096))
