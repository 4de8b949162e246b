"""Distinct codes in the order of their first item, by a hash table."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Int32Array, UInt32Array, Words


@njit(nogil=True, cache=True)
def _mix(code: Words) -> np.uint64:
    """Spread a code's bits over a word (the finalizer of MurmurHash3)."""
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
    """Number the distinct codes as they first appear; return how many there are.

    ``table`` is filled with -1, its length a power of two above the number of codes; ``code_of``
    receives each item's number. The first item of each code is moved to the front of ``words``.
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


@njit(nogil=True, cache=True)
def postings(code_of: UInt32Array, starts: UInt32Array, members: UInt32Array) -> None:
    """List each code's items, ascending: ``starts`` has one place more than there are codes."""
    starts[:] = 0
    for i in range(code_of.shape[0]):
        starts[code_of[i] + 1] += 1
    for c in range(1, starts.shape[0]):
        starts[c] += starts[c - 1]
    place = starts.copy()
    for i in range(code_of.shape[0]):
        c = code_of[i]
        members[place[c]] = i
        place[c] += 1
