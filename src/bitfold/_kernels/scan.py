"""Scans of the distinct codes: one pass of xor and popcount.

Words are stored column by column, ``words[w, c]``, the layout that vectorizes.
"""

from __future__ import annotations

from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._types import Int64Array, Words

CHUNK = 256
"""Number of codes scanned together: a vectorized loop finds whether any is near enough."""


@njit(nogil=True, cache=True)
def _find_chunk_1(
    words: Words, query: Words, start: int, last: int, limit: int, chunk: int
) -> tuple[int, int]:
    """Return the start of the next chunk with codes of one word within ``limit``, and their number.

    These are the hot loops: xor, popcount and compare without a branch, so that they are
    vectorized. Common widths have their own loop; the general loop needs a buffer.
    """
    p = query[0]
    while start < last:
        a = words[0, start : min(start + chunk, last)]
        near = 0
        for i in range(a.shape[0]):
            near += popcount(a[i] ^ p) <= limit
        if near:
            return start, near
        start += chunk
    return start, 0


@njit(nogil=True, cache=True)
def _find_chunk_2(
    words: Words, query: Words, start: int, last: int, limit: int, chunk: int
) -> tuple[int, int]:
    """Return the next chunk of codes of two words as :func:`_find_chunk_1` does."""
    p, q = query[0], query[1]
    while start < last:
        stop = min(start + chunk, last)
        a, b = words[0, start:stop], words[1, start:stop]
        near = 0
        for i in range(a.shape[0]):
            near += popcount(a[i] ^ p) + popcount(b[i] ^ q) <= limit
        if near:
            return start, near
        start += chunk
    return start, 0


@njit(nogil=True, cache=True)
def _find_chunk_4(
    words: Words, query: Words, start: int, last: int, limit: int, chunk: int
) -> tuple[int, int]:
    """Return the next chunk of codes of four words as :func:`_find_chunk_1` does."""
    p, q, r, s = query[0], query[1], query[2], query[3]
    while start < last:
        stop = min(start + chunk, last)
        a, b = words[0, start:stop], words[1, start:stop]
        c, d = words[2, start:stop], words[3, start:stop]
        near = 0
        for i in range(a.shape[0]):
            front = popcount(a[i] ^ p) + popcount(b[i] ^ q)
            near += front + popcount(c[i] ^ r) + popcount(d[i] ^ s) <= limit
        if near:
            return start, near
        start += chunk
    return start, 0


@njit(nogil=True, cache=True)
def measure_codes(words: Words, i: int, j: int, query: Words, out: Int64Array) -> None:
    """Write the distances of a query to the codes [i, j) of any width to ``out``."""
    out[: j - i] = 0
    for w in range(words.shape[0]):
        column, word = words[w, i:j], query[w]
        for c in range(column.shape[0]):
            out[c] += popcount(column[c] ^ word)


@njit(nogil=True, cache=True)
def find_chunk(
    words: Words,
    query: Words,
    start: int,
    last: int,
    limit: int,
    buffer: Int64Array,
    chunk: int = CHUNK,
) -> tuple[int, int]:
    """Return the start of the next chunk with codes within ``limit``, and their number.

    If there are none, the start is at least ``last``.
    """
    n_words = words.shape[0]
    if n_words == 1:
        return _find_chunk_1(words, query, start, last, limit, chunk)
    if n_words == 2:
        return _find_chunk_2(words, query, start, last, limit, chunk)
    if n_words == 4:
        return _find_chunk_4(words, query, start, last, limit, chunk)
    while start < last:
        stop = min(start + chunk, last)
        measure_codes(words, start, stop, query, buffer)
        near = 0
        for i in range(stop - start):
            near += buffer[i] <= limit
        if near:
            return start, near
        start += chunk
    return start, 0
