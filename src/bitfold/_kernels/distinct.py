"""Find distinct codes with a hash table."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Int32Array, UInt32Array, Words


@njit(nogil=True, cache=True)
def _mix(code: Words) -> np.uint64:
    """Return a hash of a code (the finalizer of MurmurHash3)."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(code.shape[0]):
        h ^= code[w]
        h ^= h >> np.uint64(33)
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(33)
        h *= np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(33)
    return h


@njit(nogil=True, cache=True)
def group(words: Words, table: Int32Array, code_of: UInt32Array) -> int:
    """Number the distinct codes in the order of their first items; return their number.

    ``words`` has one row per item; afterward its first rows are the distinct codes. ``code_of``
    receives the number of each item's code. ``table`` must contain -1, and its length must be a
    power of two that is larger than the number of items.
    """
    mask = np.uint64(table.shape[0] - 1)
    n_words = words.shape[1]
    count = 0
    for i in range(words.shape[0]):
        slot = _mix(words[i]) & mask
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = count
                for w in range(n_words):
                    words[count, w] = words[i, w]
                code_of[i] = count
                count += 1
                break
            same = True
            for w in range(n_words):
                same &= words[known, w] == words[i, w]
            if same:
                code_of[i] = known
                break
            slot = (slot + np.uint64(1)) & mask
    return count


def group_rows(words: Words) -> tuple[Words, UInt32Array]:
    """Return the distinct codes in the order of their first items, and the code of each item.

    ``words`` has one row per item.
    """
    rows, n = words.copy(), len(words)
    code_of = np.empty(n, np.uint32)
    table = np.full(1 << int(2 * max(n, 1)).bit_length(), -1, np.int32)
    n_distinct = group(rows, table, code_of)
    return rows[:n_distinct], code_of


@njit(nogil=True, cache=True)
def list_members(code_of: UInt32Array, starts: UInt32Array, members: UInt32Array) -> None:
    """Sort items by code: those of code c are ``members[starts[c]:starts[c + 1]]``, ascending."""
    starts[:] = 0
    for i in range(code_of.shape[0]):
        starts[code_of[i] + 1] += 1
    for c in range(1, starts.shape[0]):
        starts[c] += starts[c - 1]
    position = starts.copy()
    for i in range(code_of.shape[0]):
        c = code_of[i]
        members[position[c]] = i
        position[c] += 1
