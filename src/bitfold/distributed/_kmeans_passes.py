"""What workers compute from a block of rows in a pass of k-means, and how results are combined."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bitfold._kernels.base_points import add_rows
from bitfold._types import Float32Array, Float64Array, Int32Array
from bitfold.distributed._dask_rows import BlockReader
from bitfold.io.rows import block_length
from bitfold.neighbors import NearestBasePoints

_N_FARTHEST_ROWS = 64
"""Rows kept as replacements for centers without rows."""


class KeyedRows(NamedTuple):
    """The rows with the smallest keys, in ascending order of the keys."""

    keys: Float64Array
    rows: Float32Array


class SeedingState(NamedTuple):
    """The nearest candidate of each row of a block, and the rows that are drawn next."""

    sq_distances: Float32Array
    nearest: Int32Array
    drawn: KeyedRows


class ClusterSums(NamedTuple):
    """Sum and number of the rows of each center, and the rows farthest from their centers."""

    totals: Float64Array
    counts: Float64Array
    farthest: KeyedRows


def draw_uniforms(seed: int, first_row: int, n_rows: int) -> Float64Array:
    """Return one random number per row, which does not depend on the block of the row."""
    stream = np.random.PCG64(seed)
    stream.advance(first_row)
    return np.random.Generator(stream).random(n_rows)


def draw_seeds(
    block: Any,
    first_row: int,
    reader: BlockReader,
    candidates: NearestBasePoints,
    first_candidate: int,
    state: SeedingState | None,
    seed: int,
    size: int,
) -> SeedingState:
    """Update the nearest candidate of each row by new candidates, and draw the next rows.

    The new candidates are numbered from ``first_candidate``.
    """
    n = len(block)
    sq_distances, nearest = np.full(n, np.inf, np.float32), np.zeros(n, np.int32)
    if state is not None:
        sq_distances[:], nearest[:] = state.sq_distances, state.nearest
    step = block_length(max(candidates.points.shape))
    for start, values in reader.read(block, first_row, step) if len(candidates.points) else ():
        run = slice(start - first_row, start - first_row + len(values))
        found = candidates.find(values)
        is_closer = found.sq_distances[:, 0] < sq_distances[run]
        sq_distances[run][is_closer] = found.sq_distances[is_closer, 0]
        nearest[run][is_closer] = found.indices[is_closer, 0] + first_candidate
    keys = draw_keys(sq_distances, seed, first_row)
    return SeedingState(sq_distances, nearest, _take_smallest(block, reader, keys, size))


def draw_keys(sq_distances: Float32Array, seed: int, first_row: int) -> Float64Array:
    """Return a random key per row; the rows with the smallest keys are a weighted draw.

    Keys are exponentially distributed with the squared distances as rates, so the smallest keys
    belong to rows drawn in proportion to the squared distances. Without candidates all rates are
    equal; a row at distance zero has an infinite key and is never drawn.
    """
    rates = np.where(np.isinf(sq_distances), 1, sq_distances.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        keys: Float64Array = -np.log1p(-draw_uniforms(seed, first_row, len(rates))) / rates
    return keys


def count_nearest(state: SeedingState, n_candidates: int) -> Float64Array:
    """Return the number of rows that are nearest to each candidate."""
    return np.bincount(state.nearest, minlength=n_candidates).astype(np.float64)


def sum_block(
    block: Any, first_row: int, reader: BlockReader, centers: NearestBasePoints
) -> ClusterSums:
    """Assign the rows of a block to their nearest centers."""
    m, n_features = centers.points.shape
    totals, counts = np.zeros((m, n_features)), np.zeros(m)
    keys = np.empty(len(block))
    for start, values in reader.read(block, first_row, block_length(max(m, n_features))):
        found = centers.find(values)
        add_rows(values, found.indices[:, 0], np.ones(len(values)), totals, counts)
        keys[start - first_row : start - first_row + len(values)] = -found.sq_distances[:, 0]
    farthest = _take_smallest(block, reader, keys, _N_FARTHEST_ROWS)
    return ClusterSums(totals, counts, farthest)


def add_sums(*parts: ClusterSums) -> ClusterSums:
    """Add the sums of several blocks, in their order."""
    totals, counts = parts[0].totals.copy(), parts[0].counts.copy()
    for part in parts[1:]:
        totals += part.totals
        counts += part.counts
    farthest = merge_smallest(_N_FARTHEST_ROWS, *(part.farthest for part in parts))
    return ClusterSums(totals, counts, farthest)


def add_arrays(*parts: Float64Array) -> Float64Array:
    """Add several arrays."""
    total: Float64Array = np.sum(parts, axis=0)
    return total


def _take_smallest(block: Any, reader: BlockReader, keys: Float64Array, size: int) -> KeyedRows:
    """Return the rows of a block with the smallest finite keys."""
    size = min(size, len(keys))
    limit = np.partition(keys, size - 1)[size - 1]
    within = np.flatnonzero((keys <= limit) & np.isfinite(keys))
    order = within[np.argsort(keys[within], kind="stable")[:size]]
    return KeyedRows(keys[order], reader.take(block, order))


def merge_smallest(size: int, *parts: KeyedRows) -> KeyedRows:
    """Return the rows with the smallest keys of several blocks; ties go to the first rows."""
    keys = np.concatenate([part.keys for part in parts])
    order = np.argsort(keys, kind="stable")[:size]
    return KeyedRows(keys[order], np.concatenate([part.rows for part in parts])[order])
