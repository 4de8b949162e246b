"""Measures of a ranking's first N items, expected over all orders of its ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from bitfold import _validation
from bitfold._types import Float64Array, Int64Array
from bitfold.metrics.histograms import DistanceHistograms, ratio

_POINTS = 100
"""Cutoffs of a curve when none are asked for."""


class RankingCurves(NamedTuple):
    """Measures of the first N items: a row a query, a column a cutoff N.

    Means over the queries are ``precision.mean(axis=0)`` and so on; that of the average precision
    is MAP@N.
    """

    cutoffs: Int64Array
    precision: Float64Array
    recall: Float64Array
    average_precision: Float64Array


def ranking_curves(
    histograms: DistanceHistograms, cutoffs: ArrayLike | None = None
) -> RankingCurves:
    """Precision, recall and average precision of the first N items, for many N at once.

    Of a tie of t items, r of them relevant, that N cuts, r/t of the places before the cut are
    expected to be relevant. Average precision at N sums the precisions at the relevant items
    among the first N, and divides by as many as there could be, N or all relevant ones (not, as
    some do, by as many as there are, which rewards finding less).

    Parameters
    ----------
    histograms
        Tie groups of each query.
    cutoffs
        Ascending values of N; by default up to a hundred, evenly spaced in their logarithm.

    Examples
    --------
    >>> histograms = DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]]))
    >>> ranking_curves(histograms, [1, 3, 5]).recall.round(2)
    array([[0.33, 0.67, 1.  ]])
    """
    n_items = int(min(histograms.found.sum(axis=1), default=0))
    at = checked_cutoffs(cutoffs, n_items)
    ties = _Ties.of(histograms)
    # The first tie that reaches a cutoff is the one that it cuts.
    cut = np.array([np.searchsorted(row, at) for row in ties.N + ties.t], np.int64)
    cut = cut.reshape(len(ties.t), len(at))
    last = ties.take(cut)
    places = at - last.N
    hits = last.R + ratio(last.r, last.t) * places
    whole = ties.precisions(ties.t)
    before = np.take_along_axis(np.cumsum(whole, axis=1) - whole, cut, axis=1)
    return curves_of(at, hits, before + last.precisions(places), histograms.relevant.sum(axis=1))


def average_precision(histograms: DistanceHistograms, cutoff: int | None = None) -> Float64Array:
    """Average precision of each query, expected over all orders of its ties.

    In a tie of t items, r of them relevant, after N items with R relevant, the i-th place holds a
    relevant one with probability r/t, and then (i - 1)(r - 1)/(t - 1) of the tie are expected
    before it. Summing the precision (R + 1 + ...)/(N + i) over i leaves a difference of harmonic
    numbers. A query with nothing relevant has average precision 0.

    Parameters
    ----------
    histograms
        Tie groups of each query.
    cutoff
        Look at the first so many only, as in MAP@N; see :func:`ranking_curves`.
    """
    if cutoff is not None:
        return ranking_curves(histograms, [cutoff]).average_precision[:, 0]
    ties = _Ties.of(histograms)
    return ratio(ties.precisions(ties.t).sum(axis=1), ties.r.sum(axis=1))


def precision_at(histograms: DistanceHistograms, cutoff: int) -> Float64Array:
    """Share of relevant items among each query's first ``cutoff``, expected over its ties."""
    return ranking_curves(histograms, [cutoff]).precision[:, 0]


def recall_at(histograms: DistanceHistograms, cutoff: int) -> Float64Array:
    """Share of each query's relevant items among its first ``cutoff``, expected over its ties.

    It is 0 for a query with nothing relevant.
    """
    return ranking_curves(histograms, [cutoff]).recall[:, 0]


class _Ties(NamedTuple):
    """Tie groups: their items and relevant ones, and how many of either come before them."""

    t: Float64Array
    r: Float64Array
    N: Float64Array
    R: Float64Array

    @classmethod
    def of(cls, histograms: DistanceHistograms) -> _Ties:
        t, r = (counts.astype(np.float64) for counts in histograms)
        return cls(t, r, np.cumsum(t, axis=1) - t, np.cumsum(r, axis=1) - r)

    def take(self, groups: Int64Array) -> _Ties:
        """Choose groups of each query."""
        return _Ties(*(np.take_along_axis(part, groups, axis=1) for part in self))

    def precisions(self, places: Float64Array) -> Float64Array:
        """Sum the precisions expected at relevant items in the first places of each group."""
        t, r, N, R = self
        slope = ratio(r - 1, t - 1)
        within = (R + 1 - slope * (N + 1)) * _harmonic(N, places) + slope * places
        return ratio(r, t) * within


def _harmonic(N: Float64Array, places: Float64Array) -> Float64Array:
    """Return 1/(N + 1) + ... + 1/(N + places).

    The difference of two large harmonic numbers would cancel. Their series in 1/(N + 1/2) gives
    the difference of the logarithms at once, and from N = 50 on these terms are all it needs.
    """
    x, y = N + 0.5, N + places + 0.5
    series = np.log1p(places / x)
    for coefficient, power in ((1 / 24, 2), (-7 / 960, 4), (31 / 8064, 6)):
        series += coefficient * (y**-power - x**-power)
    return np.where(N < 50, digamma(N + places + 1) - digamma(N + 1), series)


def curves_of(
    cutoffs: Int64Array,
    hits: Float64Array | Int64Array,
    precisions: Float64Array,
    relevant: Int64Array,
) -> RankingCurves:
    """Turn sums over the first N items into measures; ``relevant`` is how many there are."""
    every = relevant[:, None]
    return RankingCurves(
        cutoffs,
        precision=ratio(hits, cutoffs),
        recall=ratio(hits, every),
        average_precision=ratio(precisions, np.minimum(every, cutoffs)),
    )


def checked_cutoffs(cutoffs: ArrayLike | None, n_items: int) -> Int64Array:
    """Return ascending cutoffs within the database; a grid of them if none are given."""
    if cutoffs is None:
        grid = np.geomspace(1, max(n_items, 1), _POINTS).round().astype(np.int64)
        return np.unique(grid[grid <= n_items])
    array = np.asarray(cutoffs)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array[1:] <= array[:-1]).any():
        _validation.raise_invalid("cutoffs", "a ranking", "ascending integers", repr(cutoffs))
    if len(array) and not 1 <= array[0] <= array[-1] <= n_items:
        demand = f"between 1 and n_items={n_items}"
        _validation.raise_invalid(
            "cutoffs", "a ranking", demand, array[-1] if array[0] > 0 else array[0]
        )
    return array.astype(np.int64)
