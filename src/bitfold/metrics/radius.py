"""Precision and recall of looking up all codes within a Hamming radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import Float64Array, Int64Array
from bitfold.metrics.histograms import DistanceHistograms, ratio


class Lookup(NamedTuple):
    """Precision, recall and F1 of looking up a radius, means over the queries."""

    precision: float
    recall: float
    f1: float


class LookupCurve(NamedTuple):
    """Precision, recall and F1 of each radius, means over the queries."""

    radius: Int64Array
    precision: Float64Array
    recall: Float64Array
    f1: Float64Array


def lookup(histograms: DistanceHistograms, radius: int = 2, *, empty: str = "zero") -> Lookup:
    """Precision, recall and F1 of retrieving all codes within a Hamming radius (inclusive).

    F1 is that of the mean precision and the mean recall, as in the paper.

    Parameters
    ----------
    histograms
        Counts per distance, from :func:`distance_histograms`.
    radius
        Largest distance that is retrieved.
    empty
        ``"zero"``: a query that finds nothing has precision 0, as is the custom of the field;
        ``"skip"``: it is left out of the mean precision, which is NaN if no query is left. Its
        recall is 0 in either case.
    """
    _validation.check_integer(radius, "radius", "lookup", low=0)
    curve = precision_recall_curve(histograms, empty=empty)
    at = min(radius, len(curve.radius) - 1)
    return Lookup(*(float(values[at]) for values in curve[1:]))


def precision_recall_curve(histograms: DistanceHistograms, *, empty: str = "zero") -> LookupCurve:
    """Precision, recall and F1 at every radius from 0 to the code length.

    Plotted against each other they are the precision–recall curve of Hamming ranking; plotted
    against the radius, the quality of hash lookup.

    Parameters
    ----------
    histograms
        Counts per distance, from :func:`distance_histograms`.
    empty
        What a query counts that finds nothing, see :func:`lookup`.
    """
    _validation.check_choice(empty, "empty", "lookup", ("zero", "skip"))
    found, right = (np.cumsum(counts, axis=1) for counts in histograms)
    everyone = np.full(found.shape[1], len(found))
    counted = np.count_nonzero(found, axis=0) if empty == "skip" else everyone
    precision = _mean(ratio(right, found), counted)
    recall = _mean(ratio(right, right[:, -1:]), everyone)
    f1 = np.where(np.isnan(precision), np.nan, ratio(2 * precision * recall, precision + recall))
    return LookupCurve(np.arange(found.shape[1]), precision, recall, f1)


def _mean(values: Float64Array, counted: Int64Array) -> Float64Array:
    """Mean of each column over so many rows, the others being 0; NaN over none."""
    mean = np.full(values.shape[1], np.nan)
    np.divide(values.sum(axis=0), counted, out=mean, where=counted > 0)
    return mean
