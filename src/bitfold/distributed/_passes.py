"""What workers do with a block of rows in a pass of K-means, and how results are combined."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bitfold._kernels.clusters import add_rows
from bitfold._types import Float32Array, Float64Array, Int32Array
from bitfold.distributed._rows import Frame
from bitfold.io.rows import block_length
from bitfold.neighbors import NearestBasePoints

_SPARE = 64
"""Worst served rows at hand for centers that lost all theirs."""


class Picked(NamedTuple):
    """Some rows with the smallest keys, keys rising."""

    keys: Float64Array
    rows: Float32Array


class Served(NamedTuple):
    """How a block's rows are served by the candidates so far, and which of them come next."""

    sq_distances: Float32Array
    nearest: Int32Array
    drawn: Picked


class Sums(NamedTuple):
    """What a pass learns: each center's rows, summed and counted, and the worst served rows."""

    totals: Float64Array
    counts: Float64Array
    worst: Picked


def uniforms(seed: int, first_row: int, count: int) -> Float64Array:
    """Return random numbers that belong to rows, whatever block a row comes in."""
    stream = np.random.PCG64(seed)
    stream.advance(first_row)
    return np.random.Generator(stream).random(count)


def serve(
    block: Any,
    first_row: int,
    frame: Frame,
    base: NearestBasePoints,
    first: int,
    served: Served | None,
    seed: int,
    size: int,
) -> Served:
    """Serve a block's rows by more candidates, numbered from ``first`` on, and draw the next."""
    n = len(block)
    sq_distances, nearest = np.full(n, np.inf, np.float32), np.zeros(n, np.int32)
    if served is not None:
        sq_distances[:], nearest[:] = served.sq_distances, served.nearest
    step = block_length(max(base.points.shape))
    for start, values in frame.blocks(block, first_row, step) if len(base.points) else ():
        here = slice(start - first_row, start - first_row + len(values))
        found = base.find(values)
        closer = found.sq_distances[:, 0] < sq_distances[here]
        sq_distances[here][closer] = found.sq_distances[closer, 0]
        nearest[here][closer] = found.indices[closer, 0] + first
    keys = race(sq_distances, seed, first_row)
    return Served(sq_distances, nearest, _pick_smallest(block, frame, keys, size))


def race(sq_distances: Float32Array, seed: int, first_row: int) -> Float64Array:
    """Return when each row's exponential clock rings, at the rate of its squared distance.

    The first to ring are a draw in proportion to the squared distances; of all rows they are among
    the first of each block. While no row is served all clocks run alike; one that is served
    exactly never rings.
    """
    rates = np.where(np.isinf(sq_distances), 1, sq_distances.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        times: Float64Array = -np.log1p(-uniforms(seed, first_row, len(rates))) / rates
    return times


def count_served(served: Served, n_points: int) -> Float64Array:
    """Count the rows nearest to each candidate."""
    return np.bincount(served.nearest, minlength=n_points).astype(np.float64)


def sums_of(block: Any, first_row: int, frame: Frame, base: NearestBasePoints) -> Sums:
    """Assign a block's rows to their nearest centers."""
    m, n_features = base.points.shape
    totals, counts = np.zeros((m, n_features)), np.zeros(m)
    keys = np.empty(len(block))
    for start, values in frame.blocks(block, first_row, block_length(max(m, n_features))):
        found = base.find(values)
        add_rows(values, found.indices[:, 0], np.ones(len(values)), totals, counts)
        keys[start - first_row : start - first_row + len(values)] = -found.sq_distances[:, 0]
    return Sums(totals, counts, _pick_smallest(block, frame, keys, _SPARE))


def add_sums(*parts: Sums) -> Sums:
    """Add up what blocks gave, in their order."""
    totals, counts = parts[0].totals.copy(), parts[0].counts.copy()
    for part in parts[1:]:
        totals += part.totals
        counts += part.counts
    return Sums(totals, counts, smallest(_SPARE, *(part.worst for part in parts)))


def add(*parts: Float64Array) -> Float64Array:
    """Add up arrays."""
    total: Float64Array = np.sum(parts, axis=0)
    return total


def _pick_smallest(block: Any, frame: Frame, keys: Float64Array, size: int) -> Picked:
    """Return the rows of a block with the smallest keys; infinite ones are none."""
    size = min(size, len(keys))
    limit = np.partition(keys, size - 1)[size - 1]
    within = np.flatnonzero((keys <= limit) & np.isfinite(keys))
    order = within[np.argsort(keys[within], kind="stable")[:size]]
    return Picked(keys[order], frame.take(block, order))


def smallest(size: int, *parts: Picked) -> Picked:
    """Return the rows with the smallest keys of several blocks; of equal ones the first rows."""
    keys = np.concatenate([part.keys for part in parts])
    order = np.argsort(keys, kind="stable")[:size]
    return Picked(keys[order], np.concatenate([part.rows for part in parts])[order])
