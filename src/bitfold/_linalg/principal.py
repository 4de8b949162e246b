"""Principal directions of data of any length, and samples seen along some directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.spectral import largest
from bitfold._threads import map_blocks
from bitfold._types import Float32Array, Float64Array, Int64Array
from bitfold.io.rows import Rows

_BLOCK_BYTES = 16 << 20
"""Longer blocks than elsewhere: each adds a whole square matrix."""


class Principal(NamedTuple):
    """Unit directions, one a row, and the variance along each, falling."""

    directions: Float64Array
    variances: Float64Array


DEFAULT_BITS = 64
"""Length of codes that nobody asked for, where the features allow it."""


def n_bits_within_features(n_bits: int | None, rows: Rows) -> int:
    """Check a code length that cannot exceed the number of features; None is the most to 64."""
    d = rows.n_features
    if n_bits is None:
        return min(DEFAULT_BITS, d)
    return _validation.check_integer(
        n_bits, "n_bits", rows.owner, low=1, high=d, why=f"n_features={d}"
    )


def covariance(rows: Rows, among: Int64Array | None = None) -> Float64Array:
    """Covariance of the features, by one pass over the rows; of some if ``among`` names them."""
    d = rows.n_features
    step = int(np.clip(_BLOCK_BYTES // (4 * d), 64, 4096))

    def of_block(values: Float32Array, start: int) -> tuple[Float32Array, Float64Array]:
        if among is not None:
            first, last = np.searchsorted(among, (start, start + step))
            if last - first < len(values):
                values = values[among[first:last] - start]
        return values.T @ values, values.sum(axis=0, dtype=np.float64)

    squares, total = np.zeros((d, d)), np.zeros(d)
    for _, (square, part) in rows.map(of_block, step):
        squares += square
        total += part
    # The center is the mean rounded to float32, which for data far from the origin is not quite it.
    n = len(rows) if among is None else len(among)
    mean = total / n
    squares /= n
    squares -= np.outer(mean, mean)
    return squares


def principal_directions(rows: Rows, n: int) -> Principal:
    """Return the n directions in which the data vary most."""
    values, vectors = largest(covariance(rows), n)
    return Principal(np.ascontiguousarray(vectors.T), np.maximum(values, 0))


def along(
    rows: Rows,
    directions: Float64Array | Float32Array,
    at_most: int,
    rng: np.random.Generator,
    among: Int64Array | None = None,
) -> Float32Array:
    """Return a sample's coordinates along the directions; all rows when there are no more.

    The rows are read block by block, so that only the coordinates are held whole. The sample is
    of all rows, or of those that ``among`` names.
    """
    W = np.ascontiguousarray(directions.T, np.float32)
    n_all = len(rows) if among is None else len(among)
    n = min(n_all, at_most)
    chosen = None if n == n_all else np.sort(rng.choice(n_all, n, replace=False))
    if among is not None and len(among) < len(rows):
        chosen = among if chosen is None else among[chosen]
    step = int(np.clip(_BLOCK_BYTES // (4 * rows.n_features), 64, 4096))

    def read(start: int) -> Float32Array:
        stop = min(start + step, n)
        return rows.block(start, stop) if chosen is None else rows.take(chosen[start:stop])

    def project(values: Float32Array) -> Float32Array:
        projected: Float32Array = values @ W
        return projected

    out = np.empty((n, W.shape[1]), np.float32)
    starts = range(0, n, step)
    # Read in order, outside the pool: what can only be read forward is then read once.
    for start, part in zip(starts, map_blocks(project, map(read, starts)), strict=True):
        out[start : start + len(part)] = part
    return out
