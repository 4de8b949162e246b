"""Ground truth by Euclidean distance, and the recall of a search against it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import Float64Array, SignedIntArray
from bitfold.metrics._scan import Scan
from bitfold.metrics.histograms import ratio
from bitfold.metrics.relevance import checked_ids


def closest_neighbors(
    database: Any, queries: Any, *, share: float = 0.02, k: int | None = None
) -> SignedIntArray:
    """Ids of the rows of the database closest to each query in ℓ2, nearest first, ties by id.

    The answer is exact: a float32 matrix product only rules out what its worst rounding error
    cannot bring back, and all other distances are summed in float64 over differences of the
    values given. Integers are so measured without any rounding, and equal rows always tie. Neither
    all distances nor, from a memory map, all rows are ever held.

    Parameters
    ----------
    database, queries
        Vectors, one a row; arrays or memory maps.
    share
        How many rows to find, as a share of the database.
    k
        How many rows to find, whatever the share.

    Returns
    -------
    One row a query, of int32 ids, or int64 where the database needs it.

    Examples
    --------
    >>> closest_neighbors([[0.0], [5.0], [1.0], [9.0]], [[0.2]], k=2)
    array([[0, 2]], dtype=int32)
    """
    X, Q = (
        _validation.check_matrix(database, "the database"),
        _validation.check_matrix(queries, "the queries"),
    )
    if X.shape[1] != Q.shape[1]:
        demand = f"of {X.shape[1]} features, like the database"
        _validation.raise_invalid("queries", "closest_neighbors", demand, Q.shape[1])
    scan = Scan.over(X, Q, _how_many(len(X), share, k))
    found = np.empty((len(Q), scan.k), scan.id_type)

    def fill(part: slice) -> None:
        found[part] = scan.closest(part)

    for _ in map_blocks(fill, scan.parts()):
        pass
    return found


def recall_at_k(found_ids: ArrayLike, true_ids: ArrayLike, k: int) -> Float64Array:
    """Share of each query's k true neighbors that are among the first k found.

    A query with less than k true neighbors is measured by those it has; 0 if it has none.

    Parameters
    ----------
    found_ids
        What a search found, best first; negative ids are padding, and rows may be shorter than k.
    true_ids
        The true neighbors, nearest first, as :func:`closest_neighbors` gives them; negative ids
        are padding. One column asks whether the nearest neighbor is among the k found.
    k
        How many to look at on either side.

    Examples
    --------
    >>> recall_at_k([[3, 1, 7]], [[1, 2, 3, 4]], k=3)
    array([0.66666667])
    """
    _validation.check_integer(k, "k", "recall_at_k", low=1)
    found = checked_ids(found_ids, "found_ids", "recall_at_k")[:, :k]
    true = checked_ids(true_ids, "true_ids", "recall_at_k")[:, :k]
    if len(found) != len(true):
        demand = f"one row for each of the {len(true)} rows of true_ids"
        _validation.raise_invalid("found_ids", "recall_at_k", demand, len(found))
    there = true >= 0
    pairs = zip(found, true, there, strict=True)
    hits = [np.count_nonzero(np.isin(ids[known], row)) for row, ids, known in pairs]
    return ratio(np.array(hits, np.int64), there.sum(axis=1))


def _how_many(n: int, share: float, k: int | None) -> int:
    if k is not None:
        return _validation.check_integer(
            k, "k", "closest_neighbors", low=1, high=n, why=f"n_rows={n}"
        )
    if _validation.check_positive(share, "share", "closest_neighbors") > 1:
        _validation.raise_invalid("share", "closest_neighbors", "at most 1", share)
    return max(1, round(share * n))
