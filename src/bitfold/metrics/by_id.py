"""Measures of a ranking whose ties are broken by id, as a search breaks them.

They depend on the order of the database, which the tie-aware ones do not; that is what they are
for: to say what a given index returns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold._threads import map_blocks
from bitfold._types import Float64Array, Int64Array
from bitfold.codes import Codes
from bitfold.metrics.histograms import check_comparable
from bitfold.metrics.ranking import RankingCurves, checked_cutoffs, curves_of
from bitfold.metrics.relevance import Answered, Relevance

_QUERIES = 16
"""Queries of one block."""


class _Sums(NamedTuple):
    """Per query and cutoff: relevant items, and the sum of the precisions at their ranks."""

    hits: Int64Array
    precisions: Float64Array
    relevant: Int64Array


def ranking_curves_by_id(
    queries: Codes, database: Codes, relevance: Relevance, cutoffs: ArrayLike | None = None
) -> RankingCurves:
    """Precision, recall and average precision of the first N items, ties broken by id.

    The items at each distance are counted, then every item takes the next place of its distance:
    a counting sort, of which only the ranks of relevant items are looked at.

    Parameters
    ----------
    queries, database
        Codes of equal length; the id of a code is its row.
    relevance
        Which codes are relevant to which query.
    cutoffs
        Ascending values of N; by default up to a hundred, evenly spaced in their logarithm.
    """
    check_comparable(queries, database)
    relevance.demand(len(queries), len(database))
    at = checked_cutoffs(cutoffs, len(database))
    sums = _count(queries, database, relevance, at)
    return curves_of(at, sums.hits, sums.precisions, sums.relevant)


def average_precision_by_id(
    queries: Codes, database: Codes, relevance: Relevance, cutoff: int | None = None
) -> Float64Array:
    """Average precision of each query, ties broken by id.

    Parameters
    ----------
    queries, database
        Codes of equal length; the id of a code is its row.
    relevance
        Which codes are relevant to which query.
    cutoff
        Look at the first so many only, as in MAP@N; see :func:`ranking_curves`.
    """
    if not len(database) and cutoff is None:
        return np.zeros(len(queries))
    at = [len(database) if cutoff is None else cutoff]
    return ranking_curves_by_id(queries, database, relevance, at).average_precision[:, 0]


def _count(queries: Codes, database: Codes, relevance: Relevance, cutoffs: Int64Array) -> _Sums:
    # The kernel module imports numba, which takes long enough to be put off until it is needed.
    from bitfold._kernels.hamming import measure, rank_by_id

    shape = (len(queries), len(cutoffs))
    sums = _Sums(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(len(queries), np.int64))
    rows, columns = queries.words(), np.ascontiguousarray(database.words().T)

    def rank(block: Answered) -> None:
        distances = np.empty(len(database), np.uint16)
        sums.relevant[block.queries] = len(block.items)
        for q in block.queries:
            measure(rows[q], columns, distances)
            hits, precisions = sums.hits[q], sums.precisions[q]
            rank_by_id(distances, block.items, queries.n_bits + 1, cutoffs, hits, precisions)

    for _ in map_blocks(rank, relevance.blocks(_QUERIES)):
        pass
    return _Sums(np.cumsum(sums.hits, axis=1), np.cumsum(sums.precisions, axis=1), sums.relevant)
