"""How many codes, and how many relevant ones, lie at each distance from a query."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import AnyArray, Float64Array, Int64Array
from bitfold.codes import Codes
from bitfold.metrics.relevance import Answered, Relevance, as_relevance

_MOST_BITS = np.iinfo(np.uint16).max

_QUERIES = 64
"""Queries of one block: enough to be worth gathering the relevant codes for."""


class DistanceHistograms(NamedTuple):
    """Per query (row) and tie group in ranking order (column): all items, relevant items."""

    found: Int64Array
    relevant: Int64Array


def distance_histograms(
    queries: Codes,
    database: Codes,
    relevance: Relevance | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> DistanceHistograms:
    """Count codes and relevant codes at every Hamming distance from every query.

    Parameters
    ----------
    queries, database
        Codes of equal length.
    relevance
        Which codes are relevant to which query; or the labels of the queries, see
        :meth:`Relevance.labels`.
    labels
        The labels of the database, where relevance is given by labels.
    progress
        Called with (stage, done, total) as the work goes on.
    """
    # The kernel module imports numba, which takes long enough to be put off until it is needed.
    from bitfold._kernels.hamming import count

    check_comparable(queries, database)
    checked = as_relevance(relevance, labels, len(queries), len(database))
    shape = (len(queries), queries.n_bits + 1)
    found, relevant = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    rows, columns = queries.words(), np.ascontiguousarray(database.words().T)

    def count_found(part: slice) -> int:
        count(rows[part], columns, found[part])
        return len(found[part])

    def count_relevant(block: Answered) -> int:
        counts = np.zeros((len(block.queries), shape[1]), np.int64)
        count(rows[block.queries], columns.take(block.items, axis=1), counts)
        relevant[block.queries] = counts
        return len(counts)

    parts = (slice(i, i + 16) for i in range(0, len(queries), 16))
    for stage, counted in (
        ("all items", map_blocks(count_found, parts)),
        ("right answers", map_blocks(count_relevant, checked.blocks(_QUERIES))),
    ):
        for done in accumulate(counted):
            if progress is not None:
                progress(stage, done, len(queries))
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
        _validation.raise_invalid(
            "relevant", "metrics", f"of shape {values.shape}", f"shape {hits.shape}"
        )
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


def check_comparable(queries: Codes, database: Codes) -> None:
    """Raise unless queries and database have codes of one length, with distances of 16 bits."""
    if database.n_bits > _MOST_BITS:
        _validation.raise_invalid(
            "database", "metrics", f"codes of at most {_MOST_BITS} bits", database.n_bits
        )
    if queries.n_bits != database.n_bits:
        _validation.raise_invalid(
            "queries", "metrics", f"codes of {database.n_bits} bits", queries.n_bits
        )


def ratio(part: AnyArray, whole: AnyArray) -> Float64Array:
    """Return part / whole, and 0 where the whole is nothing."""
    out = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    np.divide(part, whole, out=out, where=whole > 0)
    return out
