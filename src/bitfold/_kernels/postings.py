"""The items of each distinct code.

``starts`` and ``members`` list the items of each code, ascending; both are empty if every code has
one item, which then has the code's number. ``deleted`` marks deleted items; it is empty if there
are none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._types import BoolArray, UInt32Array

HAS_OTHERS = np.uint32(1 << 31)
"""Added to the first item of a code that has others; items are below it."""


@njit(nogil=True, cache=True)
def list_first_items(starts: UInt32Array, members: UInt32Array) -> UInt32Array:
    """Return the first item of each code, with :data:`HAS_OTHERS` if it is not the only one."""
    firsts = np.empty(starts.shape[0] - 1, np.uint32)
    for code in range(firsts.shape[0]):
        has_others = starts[code + 1] - starts[code] > 1
        firsts[code] = members[starts[code]] | (HAS_OTHERS if has_others else np.uint32(0))
    return firsts


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
