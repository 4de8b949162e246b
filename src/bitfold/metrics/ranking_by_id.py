"""Measures of a ranking whose ties go by id, as a search returns it.

Unlike the tie-aware measures they depend on the order of the database. Use them to measure what
a given index returns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bitfold._threads import map_blocks
from bitfold._types import Float64Array
from bitfold.codes import Codes
from bitfold.metrics.histograms import check_code_lengths
from bitfold.metrics.ranking import RankingCurves, check_cutoffs, to_curves
from bitfold.metrics.relevance import QueryGroup, Relevance

_QUERIES_PER_GROUP = 16
"""Number of queries that a thread ranks together."""


def ranking_curves_by_id(
    queries: Codes, database: Codes, relevance: Relevance, cutoffs: ArrayLike | None = None
) -> RankingCurves:
    """Return precision, recall and average precision of the first N items, ties by id.

    Parameters
    ----------
    queries, database
        Codes of equal length; the id of a code is its row.
    relevance
        Which codes are relevant to which query.
    cutoffs
        Ascending values of N; None uses up to 100, evenly spaced in their logarithm.

    Returns
    -------
    One row per query, one column per cutoff.

    Raises
    ------
    ParameterError
        If the codes differ in length, or ``relevance`` or ``cutoffs`` do not fit the database.

    Examples
    --------
    >>> database = Codes.from_bits([[0, 1], [1, 0], [1, 1]])
    >>> relevance = Relevance.from_neighbors([[1]])
    >>> ranking_curves_by_id(Codes.from_bits([[0, 0]]), database, relevance, [1, 2]).recall
    array([[0., 1.]])
    """
    # numba takes long to import, so this is done when it is needed.
    from bitfold._kernels.hamming import measure, rank_by_id

    check_code_lengths(queries, database)
    relevance.check_sizes(len(queries), len(database))
    checked = check_cutoffs(cutoffs, len(database))
    shape = (len(queries), len(checked))
    hits, precisions = np.zeros(shape, np.int64), np.zeros(shape)
    n_relevant = np.zeros(len(queries), np.int64)
    rows, columns = queries.words(), np.ascontiguousarray(database.words().T)

    def rank(group: QueryGroup) -> None:
        distances, items = np.empty(len(database), np.uint16), group.items
        n_relevant[group.queries] = len(items)
        for q in group.queries:
            measure(rows[q], columns, distances)
            rank_by_id(distances, items, queries.n_bits + 1, checked, hits[q], precisions[q])

    for _ in map_blocks(rank, relevance.groups(_QUERIES_PER_GROUP)):
        pass
    hits, precisions = np.cumsum(hits, axis=1), np.cumsum(precisions, axis=1)
    return to_curves(checked, hits, precisions, n_relevant)


def average_precision_by_id(
    queries: Codes, database: Codes, relevance: Relevance, cutoff: int | None = None
) -> Float64Array:
    """Return the average precision of each query, ties by id.

    Parameters
    ----------
    queries, database
        Codes of equal length; the id of a code is its row.
    relevance
        Which codes are relevant to which query.
    cutoff
        Number N of first items that count, as in MAP@N; see :func:`ranking_curves`. None counts
        all.

    Returns
    -------
    One value from 0 to 1 per query; 0 for a query without relevant codes.

    Raises
    ------
    ParameterError
        If the codes differ in length, or ``relevance`` or ``cutoff`` do not fit the database.

    Examples
    --------
    >>> database = Codes.from_bits([[0, 1], [1, 0], [1, 1]])
    >>> relevance = Relevance.from_neighbors([[1]])
    >>> average_precision_by_id(Codes.from_bits([[0, 0]]), database, relevance)
    array([0.5])
    """
    if not len(database) and cutoff is None:
        return np.zeros(len(queries))
    cutoffs = [len(database) if cutoff is None else cutoff]
    return ranking_curves_by_id(queries, database, relevance, cutoffs).average_precision[:, 0]
