"""Histograms of spherical Hamming distances: how spherical hashing compares its codes."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold._progress import show_progress
from bitfold._threads import map_blocks
from bitfold._types import Int64Array, ProgressCallback
from bitfold.codes import Codes
from bitfold.metrics.histograms import DistanceHistograms, check_code_lengths
from bitfold.metrics.relevance import QueryGroup, Relevance, to_relevance

_QUERIES_PER_GROUP = 16
"""Number of queries that a thread counts together."""


class _Counts(NamedTuple):
    """The items and the relevant items at each distance of one query, ascending."""

    query: int
    found: Int64Array
    relevant: Int64Array


def spherical_histograms(
    queries: Codes,
    database: Codes,
    relevance: Relevance | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    progress: ProgressCallback | None = None,
) -> DistanceHistograms:
    """Count codes and relevant codes at each spherical Hamming distance from each query.

    The distance is the number of bits that differ divided by the number of bits that are 1 in
    both codes. Without a common 1, it is the number of bits that differ times the length of the
    codes. Use it for codes of :class:`bitfold.hashers.SpH`; ``HammingIndex.search`` ranks by it
    with ``distance="spherical"``.

    Parameters
    ----------
    queries, database
        Codes of equal length.
    relevance
        Which codes are relevant to which query; or the labels of the queries, see
        :meth:`Relevance.from_labels`.
    labels
        Labels of the database, if ``relevance`` are labels.
    progress
        Called with (stage, done, total) during the work.

    Returns
    -------
    Counts with one column per distinct distance of a query, ascending, padded with zeros.

    Raises
    ------
    ParameterError
        If the codes differ in length, or ``relevance`` does not fit the number of codes.

    Examples
    --------
    >>> database = Codes.from_bits([[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 0, 1]])
    >>> found, relevant = spherical_histograms(database[:1], database, [1], [1, 0, 1, 0])
    >>> found.tolist(), relevant.tolist()  # the distances are 0, 1/2, 2 and 9
    ([[1, 1, 1, 1]], [[1, 0, 1, 0]])
    """
    # numba takes long to import, so this is done when it is needed.
    from bitfold._kernels.spherical import measure_spherical

    check_code_lengths(queries, database)
    checked = to_relevance(relevance, labels, len(queries), len(database))
    rows, columns = queries.words(), np.ascontiguousarray(database.words().T)

    def count_group(group: QueryGroup) -> list[_Counts]:
        distances, counted = np.empty(len(database)), []
        for q in group.queries:
            measure_spherical(rows[q], columns, queries.n_bits, distances)
            # Quotients of integers this small are equal exactly if their floats are.
            values, place = np.unique(distances, return_inverse=True)
            count = partial(np.bincount, minlength=len(values))
            counted.append(_Counts(int(q), count(place), count(place[group.items])))
        return counted

    groups = map_blocks(count_group, checked.groups(_QUERIES_PER_GROUP))
    with show_progress(progress) as report:
        counts: list[_Counts] = []
        for part in groups:
            counts += part
            report("spherical distances", len(counts), len(queries))
    return _pad(counts)


def _pad(counts: list[_Counts]) -> DistanceHistograms:
    """Return one row per query, with as many columns as the query with most distances needs."""
    shape = len(counts), max((len(part.found) for part in counts), default=0)
    histograms = DistanceHistograms(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    for query, found, relevant in counts:
        histograms.found[query, : len(found)] = found
        histograms.relevant[query, : len(found)] = relevant
    return histograms
