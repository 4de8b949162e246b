"""Density of the items on the map, on a grid; and the regions around its peaks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from bitfold._types import Float32Array, Int32Array, Int64Array, UInt16Array

GRID_SIZE = 256
"""Cells per side of the grid."""

_SHIFT = 8
"""Coordinates have 16 bits, and cells 8."""

_SMOOTHING = 1.5
"""Standard deviation of the smoothing of the density, in cells."""

_REGION_SMOOTHING = 4.0
"""Standard deviation of the smoothing whose peaks are regions, in cells."""

MIN_REGION_SHARE = 0.004
"""Regions with a smaller share of the items are left out."""

MAX_REGIONS = 40


class MapRegions(NamedTuple):
    """Regions of the map, largest first: their peaks, sizes, and the region of each row."""

    peaks: Float32Array
    sizes: Int64Array
    numbers: Int32Array


def count_cells(points: UInt16Array) -> Float32Array:
    """Return the number of items per cell; rows of the result are y."""
    cells = cell_of(points)
    counts = np.bincount(cells, minlength=GRID_SIZE**2).astype(np.float32)
    return counts.reshape(GRID_SIZE, GRID_SIZE)


def cell_of(points: UInt16Array) -> Int64Array:
    """Return the cell of each point, counted row by row."""
    x, y = points[:, 0] >> _SHIFT, points[:, 1] >> _SHIFT
    return y.astype(np.int64) * GRID_SIZE + x


def smooth(counts: Float32Array, width: float = _SMOOTHING) -> Float32Array:
    """Return the smoothed density; its sum is the number of items, up to the border."""
    smoothed: Float32Array = gaussian_filter(counts, width, mode="constant")
    return smoothed


def find_regions(points: UInt16Array) -> MapRegions:
    """Assign the items to the peaks of the density, by steepest ascent on the grid.

    Parameters
    ----------
    points
        Coordinates of the items.

    Returns
    -------
    MapRegions
        Regions with enough items; other items have the number -1.
    """
    counts = count_cells(points)
    root_of = _climb(smooth(counts, _REGION_SMOOTHING))
    roots, region_of_cell = np.unique(root_of, return_inverse=True)
    sizes = np.bincount(region_of_cell.ravel(), counts.ravel(), len(roots)).astype(np.int64)
    order = np.argsort(-sizes, kind="stable")[:MAX_REGIONS]
    order = order[sizes[order] >= max(1, MIN_REGION_SHARE * len(points))]
    numbers = np.full(len(roots), -1, np.int32)
    numbers[order] = np.arange(len(order))
    y, x = np.divmod(roots[order], GRID_SIZE)
    peaks = ((np.stack([x, y], axis=1) + 0.5) / GRID_SIZE).astype(np.float32)
    return MapRegions(peaks, sizes[order], numbers[region_of_cell.ravel()][cell_of(points)])


def _climb(density: Float32Array) -> Int64Array:
    """Return the peak that each cell reaches by going to its highest neighbor, again and again."""
    n = GRID_SIZE
    padded = np.pad(density, 1, constant_values=-1)
    steps = [(dy, dx) for dy in (0, -1, 1) for dx in (0, -1, 1)]
    around = np.stack([padded[1 + dy : 1 + dy + n, 1 + dx : 1 + dx + n] for dy, dx in steps])
    best = around.argmax(axis=0)
    shifts = np.array([dy * n + dx for dy, dx in steps])
    target: Int64Array = np.arange(n * n) + shifts[best].ravel()
    while True:
        further = target[target]
        if np.array_equal(further, target):
            return target
        target = further
