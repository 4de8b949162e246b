"""Filters: search among some of the items, at a cost in proportion to what is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import AnyArray, BoolArray, Ids, Int64Array
from bitfold.search.ids import check_ids, raise_repeated_ids
from bitfold.search.segment import Segment

# Nanoseconds on one core, measured on 1,000,000 random codes; only the ratios matter.
_NS_PER_GATHERED_WORD = 5.0
_NS_PER_SCANNED_WORD = 0.3

_SKIPPING = 2.0
"""A scan that skips items is expected to take this many times as long as one that does not: the
nearest codes may be among those that are skipped."""


def check_among(among: ArrayLike, n_items: int, owner: str) -> AnyArray:
    """Return a filter, checked except for ids that are unknown.

    Parameters
    ----------
    among
        Unique ids in any order, or a boolean mask with one value per item, in the order of
        ascending ids.
    n_items
        Number of items.
    owner
        Method that is named in errors.

    Returns
    -------
    The mask, or the ids in ascending order.

    Raises
    ------
    ParameterError
        If ``among`` is neither, or the mask has another length.
    DataError
        If an id appears twice.

    Examples
    --------
    >>> check_among([9, 2], 3, "search").tolist()
    [2, 9]
    >>> check_among([True, False, True], 3, "search").tolist()
    [True, False, True]
    """
    array = _validation.convert_to_array(among, "among", owner)
    if array.dtype == bool:
        if array.shape != (n_items,):
            requirement = f"one value for each of the {n_items} items if it is a mask"
            _validation.raise_invalid("among", owner, requirement, f"shape {array.shape}")
        return array
    return _sort_unique(check_ids(array, owner, name="among"), owner)


def _sort_unique(ids: Ids, owner: str) -> Ids:
    """Return ids in ascending order; raise if one appears twice."""
    if (ids[1:] > ids[:-1]).all():
        return ids
    ids = np.sort(ids)
    repeated = np.unique(ids[1:][ids[1:] == ids[:-1]])
    if len(repeated):
        raise_repeated_ids(repeated, owner)
    return ids


def is_cheaper_to_gather(n_left: int, segment: Segment, n_queries: int, full_ns: float) -> bool:
    """Return whether copying and scanning the items that are left is cheaper than ``full_ns``."""
    ns_per_word = _NS_PER_GATHERED_WORD + n_queries * _NS_PER_SCANNED_WORD
    return n_left * len(segment.words) * ns_per_word < _SKIPPING * full_ns


def count_items(items: Int64Array | BoolArray) -> int:
    """Return the number of items of a list or a mask."""
    return int(np.count_nonzero(items)) if items.dtype == bool else len(items)


def narrow(segment: Segment, items: Int64Array | BoolArray, n_queries: int) -> Segment:
    """Return a segment with only some items, given in ascending order or as a mask.

    It is gathered or masked, whichever makes a scan by ``n_queries`` queries faster.
    """
    full_ns = n_queries * _NS_PER_SCANNED_WORD * segment.words.size
    if is_cheaper_to_gather(count_items(items), segment, n_queries, full_ns):
        return segment.gather(items)
    return segment.hide_others(items)
