"""Precision and recall of all codes within a Hamming radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import Float64Array, Int64Array
from bitfold.metrics.histograms import DistanceHistograms, divide


class Lookup(NamedTuple):
    """Precision, recall and F1 within one radius, as means over the queries.

    Parameters
    ----------
    precision
        Mean share of relevant codes among those found.
    recall
        Mean share of the relevant codes that are found.
    f1
        Harmonic mean of the two.

    Examples
    --------
    >>> lookup(DistanceHistograms(np.array([[1, 1]]), np.array([[1, 0]])), radius=1).precision
    0.5
    """

    precision: float
    recall: float
    f1: float


class LookupCurve(NamedTuple):
    """Precision, recall and F1 within each radius, as means over the queries.

    Parameters
    ----------
    radius
        Radii from 0 to the length of the codes.
    precision, recall, f1
        One value per radius, see :class:`Lookup`.

    Examples
    --------
    >>> curve = precision_recall_curve(DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]])))
    >>> curve.radius.tolist(), curve.precision.tolist()
    ([0, 1], [1.0, 0.6])
    """

    radius: Int64Array
    precision: Float64Array
    recall: Float64Array
    f1: Float64Array


def lookup(histograms: DistanceHistograms, radius: int = 2, *, empty: str = "zero") -> Lookup:
    """Return precision, recall and F1 of finding all codes within a Hamming radius (inclusive).

    F1 is that of the mean precision and the mean recall, as in the paper. A radius includes all
    codes of a tie or none, so ties do not matter.

    Parameters
    ----------
    histograms
        Counts per distance, from :func:`distance_histograms`.
    radius
        Largest distance that is included.
    empty
        ``"zero"``: a query that finds nothing has precision 0, as is usual in the field;
        ``"skip"``: it is excluded from the mean precision, which is NaN if no query remains. Its
        recall is 0 in both cases.

    Returns
    -------
    Means over the queries.

    Raises
    ------
    ParameterError
        If ``radius`` is not an integer of at least 0, or ``empty`` is unknown.

    Examples
    --------
    >>> histograms = DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]]))
    >>> lookup(histograms, radius=0)
    Lookup(precision=1.0, recall=0.3333333333333333, f1=0.5)
    """
    _validation.check_integer(radius, "radius", "lookup", low=0)
    curve = precision_recall_curve(histograms, empty=empty)
    position = min(radius, len(curve.radius) - 1)
    return Lookup(*(float(values[position]) for values in curve[1:]))


def precision_recall_curve(histograms: DistanceHistograms, *, empty: str = "zero") -> LookupCurve:
    """Return precision, recall and F1 at every radius from 0 to the length of the codes.

    Plotted against each other, precision and recall are the precision–recall curve of Hamming
    ranking; plotted against the radius, they are the quality of hash lookup.

    Parameters
    ----------
    histograms
        Counts per distance, from :func:`distance_histograms`.
    empty
        How a query that finds nothing counts, see :func:`lookup`.

    Returns
    -------
    Means over the queries, one value per radius.

    Raises
    ------
    ParameterError
        If ``empty`` is unknown.

    Examples
    --------
    >>> histograms = DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]]))
    >>> precision_recall_curve(histograms).recall.round(2)
    array([0.33, 1.  ])
    """
    _validation.check_choice(empty, "empty", "lookup", ("zero", "skip"))
    found, relevant = (np.cumsum(counts, axis=1) for counts in histograms)
    n_queries = np.full(found.shape[1], len(found))
    n_counted = np.count_nonzero(found, axis=0) if empty == "skip" else n_queries
    precision = _mean(divide(relevant, found), n_counted)
    recall = _mean(divide(relevant, relevant[:, -1:]), n_queries)
    f1 = np.where(np.isnan(precision), np.nan, divide(2 * precision * recall, precision + recall))
    return LookupCurve(np.arange(found.shape[1]), precision, recall, f1)


def _mean(values: Float64Array, n_counted: Int64Array) -> Float64Array:
    """Return the sum of each column divided by its number of rows that count; NaN for none."""
    mean = np.full(values.shape[1], np.nan)
    np.divide(values.sum(axis=0), n_counted, out=mean, where=n_counted > 0)
    return mean
