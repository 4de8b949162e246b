"""How good is a code: average precision of Hamming ranking, precision and recall of lookup.

Everything comes from two histograms per query: how many codes lie at each Hamming distance, and
how many of them are relevant. No distance is ever sorted. Codes at the same distance are tied;
average precision is by default its expectation over all orders of each tie (McSherry and Najork,
*Computing information retrieval performance measures efficiently in the presence of tied scores*,
ECIR 2008), so that no ordering of the database can flatter a method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from bitfold import _checks
from bitfold._kernels.threads import map_blocks
from bitfold.codes import Codes

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]


class DistanceHistograms(NamedTuple):
    """Per query (row) and tie group in ranking order (column): all items, relevant items."""

    found: Counts
    relevant: Counts


class Lookup(NamedTuple):
    """Precision, recall and F1 of looking up a radius, means over the queries."""

    precision: float
    recall: float
    f1: float


def distance_histograms(
    queries: Codes, database: Codes, query_labels: ArrayLike, labels: ArrayLike
) -> DistanceHistograms:
    """Count codes and relevant codes at every Hamming distance from every query.

    Parameters
    ----------
    queries, database
        Codes of equal length.
    query_labels, labels
        One label a code; a database code is relevant to a query with the same label.
    """
    # The kernel module imports numba, which takes long enough to be put off until it is needed.
    from bitfold._kernels.hamming import histograms_by_label

    if queries.n_bits != database.n_bits:
        _checks.refuse("queries", "metrics", f"codes of {database.n_bits} bits", queries.n_bits)
    q_labels, d_labels = _as_integers(query_labels, labels, len(queries), len(database))
    shape = (len(queries), queries.n_bits + 1)
    found, relevant = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    q_words, d_words = queries.words(), database.words()

    def count(part: slice) -> None:
        histograms_by_label(
            q_words[part], d_words, q_labels[part], d_labels, found[part], relevant[part]
        )

    for _ in map_blocks(count, [slice(i, i + 16) for i in range(0, len(queries), 16)]):
        pass
    return DistanceHistograms(found, relevant)


def scan_histograms(distances: ArrayLike, relevant: ArrayLike) -> DistanceHistograms:
    """Tie groups of a ranking by real distances, such as an exact ℓ2 scan's.

    Parameters
    ----------
    distances
        One row a query, one column a database item.
    relevant
        The same shape, true where the item is relevant.
    """
    values, hits = np.atleast_2d(distances), np.atleast_2d(relevant)
    if values.shape != hits.shape:
        _checks.refuse("relevant", "metrics", f"of shape {values.shape}", f"shape {hits.shape}")
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    starts = np.ones(values.shape, bool)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    group = np.cumsum(starts, axis=1) - 1
    found, right = np.zeros(values.shape, np.int64), np.zeros(values.shape, np.int64)
    row = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
    np.add.at(found, (row, group), 1)
    np.add.at(right, (row, group), np.take_along_axis(hits, order, axis=1).astype(np.int64))
    return DistanceHistograms(found, right)


def average_precision(histograms: DistanceHistograms) -> Reals:
    """Average precision of each query, expected over all orders of its ties.

    In a tie of t items, r of them relevant, after N items with R relevant, the i-th place holds a
    relevant one with probability r/t, and then (i - 1)(r - 1)/(t - 1) of the tie are expected
    before it. Summing the precision (R + 1 + ...)/(N + i) over i leaves a difference of harmonic
    numbers. A query with nothing relevant has average precision 0.
    """
    t = histograms.found.astype(np.float64)
    r = histograms.relevant.astype(np.float64)
    N, R = np.cumsum(t, axis=1) - t, np.cumsum(r, axis=1) - r
    slope = np.divide(r - 1, t - 1, out=np.zeros_like(t), where=t > 1)
    harmonic = digamma(N + t + 1) - digamma(N + 1)
    within = (R + 1 - slope * (N + 1)) * harmonic + slope * t
    total = r.sum(axis=1)
    expected = np.divide(r, t, out=np.zeros_like(t), where=t > 0) * within
    return np.divide(expected.sum(axis=1), total, out=np.zeros(len(t)), where=total > 0)


def mean_average_precision(
    queries: Codes, database: Codes, query_labels: ArrayLike, labels: ArrayLike
) -> float:
    """Tie-aware MAP of ranking the database by Hamming distance.

    Examples
    --------
    >>> database = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    >>> mean_average_precision(database[:1], database, ["a"], ["a", "b", "a"])
    0.8333333333333333
    """
    histograms = distance_histograms(queries, database, query_labels, labels)
    return float(average_precision(histograms).mean())


def lookup(histograms: DistanceHistograms, radius: int = 2) -> Lookup:
    """Precision, recall and F1 of retrieving all codes within a Hamming radius (inclusive).

    A query that finds nothing has precision 0, as is the custom of the field. F1 is that of the
    mean precision and the mean recall, as in the paper.
    """
    _checks.integer(radius, "radius", "lookup", low=0)
    found = histograms.found[:, : radius + 1].sum(axis=1)
    right = histograms.relevant[:, : radius + 1].sum(axis=1)
    total = histograms.relevant.sum(axis=1)
    zeros = np.zeros(len(found))
    precision = float(np.divide(right, found, out=zeros.copy(), where=found > 0).mean())
    recall = float(np.divide(right, total, out=zeros.copy(), where=total > 0).mean())
    both = precision + recall
    return Lookup(precision, recall, 2 * precision * recall / both if both else 0.0)


def map_scorer(hasher: Any, X: Any, y: ArrayLike) -> float:
    """MAP of every row querying the others: a ``scoring`` for scikit-learn's model selection."""
    codes = hasher.encode(X)
    histograms = distance_histograms(codes, codes, y, y)
    # Each row finds itself at distance 0; it is no answer to its own query.
    histograms.found[:, 0] -= 1
    histograms.relevant[:, 0] -= 1
    return float(average_precision(histograms).mean())


def _as_integers(
    query_labels: ArrayLike, labels: ArrayLike, n_queries: int, n_database: int
) -> tuple[Counts, Counts]:
    """Number the labels of both sides alike."""
    q = _checks.labels(query_labels, n_queries, "the queries")
    d = _checks.labels(labels, n_database, "the database")
    _, numbers = np.unique(np.concatenate([q, d]), return_inverse=True)
    numbers = numbers.astype(np.int64)
    return numbers[:n_queries], numbers[n_queries:]
