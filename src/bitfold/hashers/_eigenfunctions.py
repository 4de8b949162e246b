"""Eigenfunctions of a Gaussian affinity along directions, computed from histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from bitfold._linalg.spectral import fix_signs
from bitfold._types import Float32Array, Float64Array, Int64Array, IntpArray
from bitfold.hashers.sh import Extent
from bitfold.io.rows import Rows, block_length

N_BINS = 256
"""Number of bins along a direction at which eigenfunctions are computed."""

MIN_EIGENVALUE = 1e-10
"""Eigenvalues below this fraction of the first of their direction are mostly rounding."""


class Eigenfunctions(NamedTuple):
    """Functions on a grid, one per row, and their eigenvalues relative to the trivial one."""

    functions: Float64Array
    values: Float64Array


class RankedEigenfunctions(NamedTuple):
    """Eigenfunctions of all directions, largest eigenvalue first, with the direction of each."""

    functions: Float64Array
    values: Float64Array
    directions: IntpArray


def count_histograms(rows: Rows, directions: Float64Array, extent: Extent) -> Int64Array:
    """Count the rows in each of ``N_BINS`` bins along each direction, in one pass.

    Parameters
    ----------
    rows
        All rows.
    directions
        One direction per row.
    extent
        Range of the bins; rows beyond it count in the first or last bin.

    Returns
    -------
    One row of counts per direction.
    """
    W = np.ascontiguousarray(directions.T, np.float32)
    step = block_length(max(rows.n_features, 2 * len(directions)))
    width = extent.high - extent.low
    bins_per_unit = np.divide(N_BINS, width, out=np.zeros_like(width), where=width > 0)
    shift = N_BINS * np.arange(len(directions))

    def count_block(values: Float32Array, start: int) -> IntpArray:
        projected = values @ W
        bins = ((projected - extent.low) * bins_per_unit).clip(0, N_BINS - 1).astype(np.intp)
        return np.bincount((bins + shift).ravel(), minlength=N_BINS * len(directions))

    total = np.zeros(N_BINS * len(directions), np.int64)
    for _, counts in rows.map(count_block, step):
        total += counts
    return total.reshape(len(directions), N_BINS)


def clip_extent(extent: Extent, variances: Float64Array) -> Extent:
    """Limit the extent to six standard deviations, so that an outlier does not widen all bins."""
    limit = 6 * np.sqrt(np.maximum(variances, 0))
    return Extent(np.maximum(extent.low, -limit), np.minimum(extent.high, limit))


def make_grids(extent: Extent) -> Float64Array:
    """Return the centers of the bins, one row per direction."""
    centers = (np.arange(N_BINS) + 0.5) / N_BINS
    return extent.low[:, None] + np.outer(extent.high - extent.low, centers)


def compute_eigenfunctions(
    grid: Float64Array, marginal: Float64Array, bandwidth: float
) -> Eigenfunctions:
    """Return the eigenfunctions of the affinity along one direction, without the trivial first.

    They solve ∫ w(u, v) φ(v) p(v) dv = λ φ(u) for w = exp(-(u - v)²/2σ²). A sum of λ φ(u) φ(v) is
    the best approximation of w by that many terms, in the mean square over the data.

    Parameters
    ----------
    grid
        Centers of the bins.
    marginal
        Fraction p of the rows in each bin.
    bandwidth
        σ.

    Returns
    -------
    The eigenfunctions whose eigenvalues exceed rounding, largest first.
    """
    with np.errstate(over="ignore"):
        w = np.exp(-np.square((grid[:, None] - grid) / bandwidth) / 2)
    root = np.sqrt(marginal)
    # The eigenvalues have the sum 1, so that the first is at least 1 / N_BINS.
    lowest = MIN_EIGENVALUE / N_BINS
    values, vectors = eigh(root[:, None] * w * root, subset_by_value=(lowest, np.inf))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = slice(1, int(np.searchsorted(-values, -MIN_EIGENVALUE * values[0])))
    # Applying the operator gives values in empty bins too.
    functions = (w @ (root[:, None] * vectors[:, kept])) / values[kept]
    return Eigenfunctions(fix_signs(functions).T, values[kept] / values[0])


def rank_eigenfunctions(found: Sequence[Eigenfunctions]) -> RankedEigenfunctions:
    """Return the eigenfunctions of all directions, largest eigenvalue first."""
    values = np.concatenate([f.values for f in found])
    order = np.argsort(-values, kind="stable")
    directions = np.repeat(np.arange(len(found)), [len(f.values) for f in found])
    functions = np.concatenate([f.functions for f in found])
    return RankedEigenfunctions(functions[order], values[order], directions[order])


class BitFunctions(NamedTuple):
    """The function of each bit, as an index into ranked eigenfunctions, and its threshold."""

    indices: IntpArray
    thresholds: Float64Array


def assign_bits(
    ranked: RankedEigenfunctions, marginals: Float64Array, n_bits: int, min_weight: float
) -> BitFunctions:
    """Distribute bits over the strong eigenfunctions, several thresholds to each if needed.

    Parameters
    ----------
    ranked
        The eigenfunctions.
    marginals
        Fraction of the rows in each bin, one row per direction.
    n_bits
        Number of bits.
    min_weight
        Fraction of the largest eigenvalue from which an eigenfunction is strong.

    Returns
    -------
    Bits in the order of their eigenfunctions. The numbers of bits of two eigenfunctions differ by
    at most one, and an eigenfunction with c bits has its quantiles 1/(c + 1), ..., c/(c + 1) as
    thresholds.
    """
    n_strong = int((ranked.values >= min_weight * ranked.values[0]).sum())
    n_used = min(n_strong, n_bits)
    n_each = n_bits // n_used + (np.arange(n_used) < n_bits % n_used)
    thresholds = [
        find_quantiles(ranked.functions[i], marginals[ranked.directions[i]], n)
        for i, n in enumerate(n_each)
    ]
    return BitFunctions(np.repeat(np.arange(n_used), n_each), np.concatenate(thresholds))


def find_quantiles(function: Float64Array, marginal: Float64Array, n: int) -> Float64Array:
    """Return the quantiles 1/(n + 1), ..., n/(n + 1) of a function over the rows.

    Parameters
    ----------
    function
        Values of the function in each bin.
    marginal
        Fraction of the rows in each bin.
    n
        Number of quantiles.

    Returns
    -------
    The quantiles, ascending.
    """
    order = np.argsort(function, kind="stable")
    below = np.cumsum(marginal[order])
    levels = np.arange(1, n + 1) / (n + 1)
    return function[order[np.minimum(np.searchsorted(below, levels), len(order) - 1)]]
