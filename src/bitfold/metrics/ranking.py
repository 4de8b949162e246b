"""Measures of the first N items of a ranking, as means over all orders of its ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from bitfold import _validation
from bitfold._types import Float64Array, Int64Array
from bitfold.metrics.histograms import DistanceHistograms, divide

_N_CUTOFFS = 100
"""Default number of cutoffs of a curve."""


class RankingCurves(NamedTuple):
    """Measures of the first N items, one row per query, one column per cutoff N.

    Means over the queries are ``precision.mean(axis=0)`` and so on; the mean of the average
    precision is MAP@N.

    Parameters
    ----------
    cutoffs
        Values of N, ascending.
    precision
        Share of relevant items among the first N.
    recall
        Share of the relevant items that are among the first N.
    average_precision
        Average precision of the first N items, see :func:`ranking_curves`.

    Examples
    --------
    >>> histograms = DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]]))
    >>> ranking_curves(histograms, [1, 3, 5]).precision.round(2)
    array([[1.  , 0.67, 0.6 ]])
    """

    cutoffs: Int64Array
    precision: Float64Array
    recall: Float64Array
    average_precision: Float64Array


def ranking_curves(
    histograms: DistanceHistograms, cutoffs: ArrayLike | None = None
) -> RankingCurves:
    """Return precision, recall and average precision of the first N items, for many N at once.

    The measures are means over all orders of each tie. If N cuts a tie of t items, r of them
    relevant, a share r/t of its positions before the cut is expected to be relevant. Average
    precision at N is the sum of the precisions at the relevant items among the first N, divided
    by the largest number of relevant items that there could be: N, or all relevant items if they
    are fewer. (Dividing by the number found, as some do, rewards finding fewer.)

    Parameters
    ----------
    histograms
        Tied items of each query.
    cutoffs
        Ascending values of N; None uses up to 100, evenly spaced in their logarithm.

    Returns
    -------
    One row per query, one column per cutoff.

    Raises
    ------
    ParameterError
        If ``cutoffs`` are not ascending integers from 1 to the number of items.

    Examples
    --------
    >>> histograms = DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]]))
    >>> ranking_curves(histograms, [1, 3, 5]).recall.round(2)
    array([[0.33, 0.67, 1.  ]])
    """
    n_items = int(min(histograms.found.sum(axis=1), default=0))
    checked = check_cutoffs(cutoffs, n_items)
    ties = _Ties.from_histograms(histograms)
    # The first tie that reaches a cutoff is the one that it cuts.
    cut = np.array([np.searchsorted(row, checked) for row in ties.N + ties.t], np.int64)
    cut = cut.reshape(len(ties.t), len(checked))
    last = ties.take(cut)
    positions = checked - last.N
    hits = last.R + divide(last.r, last.t) * positions
    whole = ties.sum_precisions(ties.t)
    before = np.take_along_axis(np.cumsum(whole, axis=1) - whole, cut, axis=1)
    precisions = before + last.sum_precisions(positions)
    return to_curves(checked, hits, precisions, histograms.relevant.sum(axis=1))


def average_precision(histograms: DistanceHistograms, cutoff: int | None = None) -> Float64Array:
    """Return the average precision of each query, as the mean over all orders of its ties.

    In a tie of t items, r of them relevant, after N items with R relevant, the item at position i
    is relevant with probability r/t, and then (i - 1)(r - 1)/(t - 1) relevant items of the tie
    are expected before it. The sum of the precisions (R + 1 + ...)/(N + i) over i is a difference
    of harmonic numbers.

    Parameters
    ----------
    histograms
        Tied items of each query.
    cutoff
        Number N of first items that count, as in MAP@N; see :func:`ranking_curves`. None counts
        all.

    Returns
    -------
    One value from 0 to 1 per query; 0 for a query without relevant items.

    Raises
    ------
    ParameterError
        If ``cutoff`` is not an integer from 1 to the number of items.

    Examples
    --------
    >>> average_precision(DistanceHistograms(np.array([[2, 1]]), np.array([[1, 0]])))
    array([0.75])
    """
    if cutoff is not None:
        return ranking_curves(histograms, [cutoff]).average_precision[:, 0]
    ties = _Ties.from_histograms(histograms)
    return divide(ties.sum_precisions(ties.t).sum(axis=1), ties.r.sum(axis=1))


def precision_at(histograms: DistanceHistograms, cutoff: int) -> Float64Array:
    """Return the share of relevant items among the first ``cutoff`` items of each query.

    It is the mean over all orders of the ties.

    Parameters
    ----------
    histograms
        Tied items of each query.
    cutoff
        Number of first items.

    Returns
    -------
    One value from 0 to 1 per query.

    Raises
    ------
    ParameterError
        If ``cutoff`` is not an integer from 1 to the number of items.

    Examples
    --------
    >>> precision_at(DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]])), 5)
    array([0.6])
    """
    return ranking_curves(histograms, [cutoff]).precision[:, 0]


def recall_at(histograms: DistanceHistograms, cutoff: int) -> Float64Array:
    """Return the share of each query's relevant items that are among its first ``cutoff`` items.

    It is the mean over all orders of the ties.

    Parameters
    ----------
    histograms
        Tied items of each query.
    cutoff
        Number of first items.

    Returns
    -------
    One value from 0 to 1 per query; 0 for a query without relevant items.

    Raises
    ------
    ParameterError
        If ``cutoff`` is not an integer from 1 to the number of items.

    Examples
    --------
    >>> recall_at(DistanceHistograms(np.array([[1, 4]]), np.array([[1, 3]])), 3)
    array([0.625])
    """
    return ranking_curves(histograms, [cutoff]).recall[:, 0]


class _Ties(NamedTuple):
    """Ties with t items, r of them relevant, after N items with R relevant; one row per query."""

    t: Float64Array
    r: Float64Array
    N: Float64Array
    R: Float64Array

    @classmethod
    def from_histograms(cls, histograms: DistanceHistograms) -> _Ties:
        t, r = (counts.astype(np.float64) for counts in histograms)
        return cls(t, r, np.cumsum(t, axis=1) - t, np.cumsum(r, axis=1) - r)

    def take(self, columns: Int64Array) -> _Ties:
        """Select some ties of each query."""
        return _Ties(*(np.take_along_axis(part, columns, axis=1) for part in self))

    def sum_precisions(self, positions: Float64Array) -> Float64Array:
        """Sum the expected precisions at relevant items among the first positions of each tie."""
        t, r, N, R = self
        slope = divide(r - 1, t - 1)
        within = (R + 1 - slope * (N + 1)) * _sum_reciprocals(N, positions) + slope * positions
        return divide(r, t) * within


def _sum_reciprocals(N: Float64Array, count: Float64Array) -> Float64Array:
    """Return 1/(N + 1) + ... + 1/(N + count).

    The difference of two large harmonic numbers would lose digits to cancellation. Their series
    in 1/(N + 1/2) gives the difference of the logarithms directly; for N >= 50 these terms are
    accurate to float64.
    """
    x, y = N + 0.5, N + count + 0.5
    series = np.log1p(count / x)
    for coefficient, power in ((1 / 24, 2), (-7 / 960, 4), (31 / 8064, 6)):
        series += coefficient * (y**-power - x**-power)
    return np.where(N < 50, digamma(N + count + 1) - digamma(N + 1), series)


def to_curves(
    cutoffs: Int64Array,
    hits: Float64Array | Int64Array,
    precisions: Float64Array,
    relevant: Int64Array,
) -> RankingCurves:
    """Turn sums over the first N items into measures; ``relevant`` counts each query's items."""
    n_relevant = relevant[:, None]
    return RankingCurves(
        cutoffs,
        precision=divide(hits, cutoffs),
        recall=divide(hits, n_relevant),
        average_precision=divide(precisions, np.minimum(n_relevant, cutoffs)),
    )


def check_cutoffs(cutoffs: ArrayLike | None, n_items: int) -> Int64Array:
    """Return ascending cutoffs within the database; None gives the default ones."""
    if cutoffs is None:
        grid = np.geomspace(1, max(n_items, 1), _N_CUTOFFS).round().astype(np.int64)
        return np.unique(grid[grid <= n_items])
    array = np.asarray(cutoffs)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array[1:] <= array[:-1]).any():
        _validation.raise_invalid("cutoffs", "a ranking", "ascending integers", repr(cutoffs))
    if len(array) and not 1 <= array[0] <= array[-1] <= n_items:
        requirement = f"between 1 and n_items={n_items}"
        value = array[-1] if array[0] > 0 else array[0]
        _validation.raise_invalid("cutoffs", "a ranking", requirement, value)
    return array.astype(np.int64)
