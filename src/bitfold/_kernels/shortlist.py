"""Nearest base points among very many: a cheap look at some, an exact one at a short list.

The base points are dealt out to lists around centers. A row looks only into the lists whose
centers are nearest to it, there only along a few directions, and measures exactly what seems
nearest. Every number is a sum in one fixed order, so that the outcome is a function of the row
alone, as in ``nearest``, although not always the very nearest.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.nearest import _FAR, _far_sq_distance, _insert, _sq_distance, _sq_length
from bitfold._types import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array

LANES = 32
"""Members of a list that are looked at side by side."""


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _lane_scores(
    z: Float32Array, members: Float32Array, sq_norms: Float32Array, scores: Float32Array
) -> float:
    """scores[t] = sq_norms[t] - 2 z · members[:, t]; return the lowest.

    Four components at a time: fewer trips through memory.
    """
    for t in range(LANES):
        scores[t] = np.float32(0)
    for c in range(0, len(z), 4):
        x0, x1, x2, x3 = z[c], z[c + 1], z[c + 2], z[c + 3]
        b0, b1, b2, b3 = members[c], members[c + 1], members[c + 2], members[c + 3]
        for t in range(LANES):
            scores[t] += (x0 * b0[t] + x1 * b1[t]) + (x2 * b2[t] + x3 * b3[t])
    lowest = np.float32(np.inf)
    for t in range(LANES):
        scores[t] = sq_norms[t] - np.float32(2) * scores[t]
        # Not min(): its care for NaN would keep the loop from being vectorized.
        lowest = scores[t] if scores[t] < lowest else lowest
    return float(lowest)


@njit(nogil=True, cache=True)
def _keep(
    score: float, index: int, scores: Float32Array, kept: Int32Array, row: int, filled: int
) -> int:
    """Insert into a row's short list, sorted by score."""
    room = scores.shape[1]
    place = min(filled, room - 1)
    while place > 0 and scores[row, place - 1] > score:
        scores[row, place] = scores[row, place - 1]
        kept[row, place] = kept[row, place - 1]
        place -= 1
    scores[row, place] = score
    kept[row, place] = index
    return min(filled + 1, room)


@njit(nogil=True, cache=True)
def _look(
    seen: Float32Array,
    closest: Int32Array,
    chosen: BoolArray,
    members: Float32Array,
    sq_norms: Float32Array,
    order: Int32Array,
    starts: Int64Array,
    scores: Float32Array,
    kept: Int32Array,
) -> None:
    """Fill each row's short list from its lists: |b|² less twice the product along directions.

    The closest list first, which leaves little to improve; then one list after the other, for all
    rows that look into it: it stays in the cache meanwhile.
    """
    n, room = scores.shape
    scores[:] = np.inf
    kept[:] = -1
    filled = np.zeros(n, np.int64)
    lanes = np.empty(LANES, np.float32)
    for part in range(-1, len(starts) - 1):
        for i in range(n):
            own = closest[i] if part < 0 else part
            if part >= 0 and (part == closest[i] or not chosen[i, part]):
                continue
            for b in range(starts[own], starts[own + 1]):
                lowest = _lane_scores(seen[i], members[b], sq_norms[b], lanes)
                if lowest < scores[i, room - 1]:
                    for t in range(LANES):
                        if lanes[t] < scores[i, room - 1]:
                            filled[i] = _keep(lanes[t], order[b, t], scores, kept, i, filled[i])


@njit(nogil=True, cache=True)
def _probe(
    scores: Float32Array,
    sq_norms: Float32Array,
    reach: float,
    closest: Int32Array,
    chosen: BoolArray,
) -> None:
    """Choose the lists within ``reach`` of the closest; ``scores`` are products, overwritten."""
    for i in range(len(scores)):
        row = scores[i]
        lowest = np.float32(np.inf)
        for j in range(len(row)):
            row[j] = sq_norms[j] - np.float32(2) * row[j]
            lowest = row[j] if row[j] < lowest else lowest
        limit = lowest + np.float32(reach)
        for j in range(len(row)):
            chosen[i, j] = row[j] <= limit
        closest[i] = np.argmin(row)


@njit(nogil=True, cache=True)
def nearest_of_some(
    rows: Float32Array,
    seen: Float32Array,
    center_products: Float32Array,
    center_sq_norms: Float32Array,
    reach: float,
    members: Float32Array,
    sq_norms: Float32Array,
    order: Int32Array,
    starts: Int64Array,
    n_kept: int,
    base: Float32Array,
    indices: Int32Array,
    sq_distances: Float64Array,
) -> None:
    """Find the k nearest base points of each row among those it looks at, nearest first.

    ``seen`` are the rows along the directions, ``center_products`` their products with the lists'
    centers, overwritten; lists within ``reach`` of the closest, as squared distances, are looked
    into. ``members`` are the base points along the directions, ``LANES``
    of a list to a block, with their ``sq_norms`` (infinite where a block has room left) and their
    numbers, ``order``; ``starts`` are the lists' first blocks. ``n_kept`` are measured exactly.
    """
    n, k = indices.shape
    scores = np.empty((n, n_kept), np.float32)
    kept = np.empty((n, n_kept), np.int32)
    closest, chosen = np.empty(n, np.int32), np.empty(center_products.shape, np.bool_)
    _probe(center_products, center_sq_norms, reach, closest, chosen)
    _look(seen, closest, chosen, members, sq_norms, order, starts, scores, kept)
    largest = 0.0
    for b in range(len(sq_norms)):
        for t in range(LANES):
            if order[b, t] >= 0:
                largest = max(largest, sq_norms[b, t])
    for i in range(n):
        # Of a row too far for float32, and where lists had too little in them, all are measured.
        far = not _sq_length(rows[i]) + largest < _FAR
        everything = far or kept[i, k - 1] < 0
        filled = 0
        for c in range(len(base) if everything else n_kept):
            j = c if everything else kept[i, c]
            if j < 0:
                break
            x = rows[i]
            distance = _far_sq_distance(x, base[j]) if far else _sq_distance(x, base[j])
            filled = _insert(sq_distances[i], indices[i], filled, distance, j)
