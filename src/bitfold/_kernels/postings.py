"""The items of each distinct code.

``starts`` and ``members`` list the items of each code, ascending; both are empty if every code has
one item, which then has the code's number. ``deleted`` marks deleted items; it is empty if there
are none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bitfold._types import BoolArray, UInt32Array

IS_SHARED = np.uint32(1 << 31)
"""Marks codes with several items; items are below it."""


class CodeItems(NamedTuple):
    """The items of codes of which most have one item, which is found with one cache miss.

    Parameters
    ----------
    firsts
        The item of each code; if it has several, :data:`IS_SHARED` plus their place in ``shared``.
        Empty if the table does not pay off.
    shared
        The number of items of each code that has several, followed by these items.
    """

    firsts: UInt32Array
    shared: UInt32Array


@njit(nogil=True, cache=True)
def tabulate_items(
    starts: UInt32Array, members: UInt32Array, firsts: UInt32Array, shared: UInt32Array
) -> Any:
    """Fill an :class:`CodeItems`; return the length of ``shared`` that is needed.

    Entries beyond the end of ``shared`` are not written.
    """
    filled = np.int64(0)
    for code in range(firsts.shape[0]):
        begin, end = np.int64(starts[code]), np.int64(starts[code + 1])
        if end - begin == 1:
            firsts[code] = members[begin]
            continue
        firsts[code] = IS_SHARED | np.uint32(filled)
        if filled + 1 + end - begin <= shared.shape[0]:
            shared[filled] = end - begin
            shared[filled + 1 : filled + 1 + end - begin] = members[begin:end]
        filled += 1 + end - begin
    return filled


@njit(nogil=True, cache=True)
def member_range(code: int, starts: UInt32Array) -> tuple[Any, Any]:
    """Return the range of a code's items in ``members``."""
    if starts.shape[0]:
        return np.int64(starts[code]), np.int64(starts[code + 1])
    return code, code + 1


@njit(nogil=True, cache=True)
def live_item(position: int, members: UInt32Array, deleted: BoolArray) -> Any:
    """Return the item at a position in ``members``, -1 if it is deleted."""
    item = np.int64(members[position]) if members.shape[0] else position
    if deleted.shape[0] and deleted[item]:
        return -1
    return item


@njit(nogil=True, cache=True)
def count_live_from(first: int, last: int, members: UInt32Array, deleted: BoolArray) -> int:
    """Return the number of live items at the positions [first, last) of ``members``."""
    if not deleted.shape[0]:
        return last - first
    n_live = 0
    for e in range(first, last):
        n_live += live_item(e, members, deleted) >= 0
    return n_live


@njit(nogil=True, cache=True)
def count_live(code: int, starts: UInt32Array, members: UInt32Array, deleted: BoolArray) -> int:
    """Return the number of live items of a code."""
    first, last = member_range(code, starts)
    return count_live_from(first, last, members, deleted)
