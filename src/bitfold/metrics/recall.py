"""Recall of a search against true neighbors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Float64Array
from bitfold.metrics.histograms import divide
from bitfold.metrics.relevance import check_id_lists


def recall_at_k(
    found_ids: ArrayLike, true_ids: ArrayLike, k: int, *, n_candidates: int | None = None
) -> Float64Array:
    """Return the share of each query's k true neighbors that are among the first k found.

    A query with fewer than k true neighbors is measured by those it has; it is 0 without any.
    Ties are as the two lists order them.

    Parameters
    ----------
    found_ids
        Ids that a search found, nearest first, one row per query. Negative ids are padding, and
        rows may be shorter than k.
    true_ids
        Ids of the true neighbors, nearest first, as from :func:`closest_neighbors`. Negative ids
        are padding. With one column, the result says whether the nearest neighbor was found.
    k
        Number of ids per query to compare in both lists.
    n_candidates
        Number of found ids to compare, if it is more than k. The result is the recall after
        rescoring that number of candidates by their exact distances.

    Returns
    -------
    One value from 0 to 1 per query.

    Raises
    ------
    ParameterError
        If ``k`` is not an integer of at least 1, ``n_candidates`` is less than k, or the lists are
        not integer matrices of equal length.

    Examples
    --------
    >>> recall_at_k([[3, 1, 7]], [[1, 2, 3, 4]], k=3)
    array([0.66666667])
    >>> recall_at_k([[3, 1, 7, 2]], [[1, 2, 3, 4]], k=3, n_candidates=4)
    array([1.])
    """
    _validation.check_integer(k, "k", "recall_at_k", low=1)
    if n_candidates is not None:
        _validation.check_integer(n_candidates, "n_candidates", "recall_at_k", low=k)
    found = check_id_lists(found_ids, "found_ids", "recall_at_k")[:, : n_candidates or k]
    true = check_id_lists(true_ids, "true_ids", "recall_at_k")[:, :k]
    if len(found) != len(true):
        requirement = f"one row for each of the {len(true)} rows of true_ids"
        _validation.raise_invalid("found_ids", "recall_at_k", requirement, len(found))
    is_id = true >= 0
    lists = zip(found, true, is_id, strict=True)
    n_hits = [np.count_nonzero(np.isin(ids[known], row)) for row, ids, known in lists]
    return divide(np.array(n_hits, np.int64), is_id.sum(axis=1))
