"""Distances of a query to codes next to each other: one pass of xor and popcount.

Words are stored column by column, ``words[w, c]``, the layout that vectorizes.
"""

from __future__ import annotations

from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._types import Int64Array, Words

CHUNK = 256
"""Number of codes measured together."""


@njit(nogil=True, cache=True)
def measure_codes(words: Words, i: int, j: int, query: Words, out: Int64Array) -> None:
    """Write the distances of a query to the codes [i, j) of any width to ``out``."""
    out[: j - i] = 0
    for w in range(words.shape[0]):
        column, word = words[w, i:j], query[w]
        for c in range(column.shape[0]):
            out[c] += popcount(column[c] ^ word)
