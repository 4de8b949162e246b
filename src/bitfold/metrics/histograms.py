"""Number of codes, and of relevant codes, at each distance from a query."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._threads import map_blocks
from bitfold._types import AnyArray, Float64Array, Int64Array, ProgressCallback
from bitfold.codes import Codes
from bitfold.metrics.relevance import QueryGroup, Relevance, to_relevance

_MAX_BITS = np.iinfo(np.uint16).max
"""Maximum length of the codes: distances are counted with 16 bits."""

_QUERIES_PER_BLOCK = 16
"""Number of queries that a thread counts together."""

_QUERIES_PER_GROUP = 64
"""Number of queries whose relevant codes, copied once per block, are counted together."""


class DistanceHistograms(NamedTuple):
    """Number of items at each distance, one row per query, one column per distance.

    The items of a column are tied; columns are in ascending order of distance.

    Parameters
    ----------
    found
        Number of items.
    relevant
        Number of relevant items among them.

    Examples
    --------
    >>> histograms = DistanceHistograms(np.array([[1, 4]]), np.array([[1, 2]]))
    >>> histograms.relevant.sum(axis=1)
    array([3])
    """

    found: Int64Array
    relevant: Int64Array


def distance_histograms(
    queries: Codes,
    database: Codes,
    relevance: Relevance | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    progress: ProgressCallback | None = None,
) -> DistanceHistograms:
    """Count codes and relevant codes at each Hamming distance from each query.

    Codes at the same distance are tied and counted in the same column, so the order of the
    database does not matter.

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
    Counts with one column per distance from 0 to the length of the codes.

    Raises
    ------
    ParameterError
        If the codes differ in length, or ``relevance`` does not fit the number of codes.

    Examples
    --------
    >>> database = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    >>> found, relevant = distance_histograms(database[:1], database, ["a"], ["a", "b", "a"])
    >>> found.tolist(), relevant.tolist()
    ([[1, 1, 1]], [[1, 0, 1]])
    """
    # numba takes long to import, so this is done when it is needed.
    from bitfold._kernels.hamming import count

    check_code_lengths(queries, database)
    checked = to_relevance(relevance, labels, len(queries), len(database))
    shape = (len(queries), queries.n_bits + 1)
    found, relevant = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    rows, columns = queries.words(), np.ascontiguousarray(database.words().T)

    def count_found(part: slice) -> int:
        count(rows[part], columns, found[part])
        return len(found[part])

    def count_relevant(group: QueryGroup) -> int:
        counts = np.zeros((len(group.queries), shape[1]), np.int64)
        count(rows[group.queries], columns.take(group.items, axis=1), counts)
        relevant[group.queries] = counts
        return len(counts)

    step = _QUERIES_PER_BLOCK
    parts = (slice(i, i + step) for i in range(0, len(queries), step))
    stages = {
        "all items": map_blocks(count_found, parts),
        "relevant items": map_blocks(count_relevant, checked.groups(_QUERIES_PER_GROUP)),
    }
    with show_progress(progress) as report:
        for stage, counted in stages.items():
            for done in accumulate(counted):
                report(stage, done, len(queries))
    return DistanceHistograms(found, relevant)


def scan_histograms(distances: ArrayLike, relevant: ArrayLike) -> DistanceHistograms:
    """Group a ranking by real distances, such as those of an exact ℓ2 scan, into ties.

    Items at exactly equal distances are tied.

    Parameters
    ----------
    distances
        One row per query, one column per database item.
    relevant
        Whether each item is relevant, in the same shape.

    Returns
    -------
    Counts with one column per distinct distance of a query, ascending, padded with zeros.

    Raises
    ------
    ParameterError
        If the shapes differ.

    Examples
    --------
    >>> found, relevant = scan_histograms([[0.5, 0.1, 0.5]], [[True, True, False]])
    >>> found.tolist(), relevant.tolist()
    ([[1, 2, 0]], [[1, 1, 0]])
    """
    values, hits = np.atleast_2d(distances), np.atleast_2d(relevant)
    if values.shape != hits.shape:
        requirement = f"of shape {values.shape}, like distances"
        _validation.raise_invalid("relevant", "scan_histograms", requirement, f"shape {hits.shape}")
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    is_new = np.ones(values.shape, bool)
    is_new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    column = np.cumsum(is_new, axis=1) - 1
    n_found, n_relevant = np.zeros(values.shape, np.int64), np.zeros(values.shape, np.int64)
    row = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
    np.add.at(n_found, (row, column), 1)
    np.add.at(n_relevant, (row, column), np.take_along_axis(hits, order, axis=1).astype(np.int64))
    return DistanceHistograms(n_found, n_relevant)


def check_code_lengths(queries: Codes, database: Codes) -> None:
    """Raise unless queries and database have the same length, which must fit into 16 bits."""
    if database.n_bits > _MAX_BITS:
        requirement = f"codes of at most {_MAX_BITS} bits"
        _validation.raise_invalid("database", "metrics", requirement, database.n_bits)
    if queries.n_bits != database.n_bits:
        requirement = f"codes of {database.n_bits} bits"
        _validation.raise_invalid("queries", "metrics", requirement, queries.n_bits)


def divide(part: AnyArray, whole: AnyArray) -> Float64Array:
    """Return part / whole, and 0 where the whole is not positive."""
    out = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    np.divide(part, whole, out=out, where=whole > 0)
    return out
