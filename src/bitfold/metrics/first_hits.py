"""Measures of the hits that a search returns, in the order in which it returns them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import BoolArray, Float64Array
from bitfold.errors import DataError
from bitfold.metrics.relevance import Relevance, check_id_lists


def precision_at_k(found_ids: ArrayLike, relevance: Relevance, k: int) -> Float64Array:
    """Return the share of relevant items among the first k that a search found.

    Ties are as the search returns them, not averaged over their orders. If a search returns fewer
    than k items, all of them count.

    Parameters
    ----------
    found_ids
        Ids that a search found, nearest first, one row per query. Negative ids are padding.
    relevance
        Which items are relevant to which query.
    k
        Number of ids per query.

    Returns
    -------
    One value from 0 to 1 per query.

    Raises
    ------
    ParameterError
        If ``k`` is not an integer of at least 1, or ``found_ids`` is not an integer matrix.
    DataError
        If ``relevance`` is for another number of queries.

    Examples
    --------
    >>> precision_at_k([[3, 1, 7]], Relevance.from_neighbors([[1, 3, 4]]), k=3)
    array([0.66666667])
    """
    _validation.check_integer(k, "k", "precision_at_k", low=1)
    found = check_id_lists(found_ids, "found_ids", "precision_at_k")[:, :k]
    if len(found) != len(relevance.group_of):
        raise DataError(
            f"The relevance is for {len(relevance.group_of)} queries, but found_ids has "
            f"{len(found)} rows."
        )
    precision = np.zeros(len(found))
    for queries, items in relevance.groups(len(found)):
        n_relevant = np.isin(found[queries], items).sum(axis=1)
        precision[queries] = n_relevant / np.maximum(1, (found[queries] >= 0).sum(axis=1))
    return precision


def all_tied(distances: ArrayLike, k: int) -> BoolArray:
    """Return whether the first k items of each query are all at one distance.

    The order of such items is that of their ids, and says nothing about their relevance.

    Parameters
    ----------
    distances
        Distances that a search returned, one row per query, ascending.
    k
        Number of first items.

    Returns
    -------
    One value per query.

    Raises
    ------
    ParameterError
        If ``k`` is not an integer of at least 2.
    DataError
        If there are fewer than k distances per query.

    Examples
    --------
    >>> all_tied([[0, 0, 0, 1], [0, 1, 1, 1]], k=3)
    array([ True, False])
    """
    _validation.check_integer(k, "k", "all_tied", low=2)
    values = np.atleast_2d(distances)
    if values.shape[1] < k:
        raise DataError(f"There are {values.shape[1]} distances per query, but k is {k}.")
    tied: BoolArray = values[:, 0] == values[:, k - 1]
    return tied
