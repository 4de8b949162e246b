"""Marked codes are those that a plain comparison finds near."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold._kernels import marks as kernels
from bitfold._kernels.marks import CODES_PER_RUN, PLANES_PER_PASS

N_CODES = CODES_PER_RUN + 100
"""More than a run, and an end that does not fill a mark."""

rng = np.random.default_rng(0)


def make_codes(n_words: int) -> tuple[np.ndarray, np.ndarray]:
    words = rng.integers(0, 2**64, (n_words, N_CODES), np.uint64)
    return words, words[:, 7] ^ np.uint64(5)


def unpack(words: np.ndarray) -> np.ndarray:
    """Return the bits of words along a new last axis."""
    return (words[..., None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)


@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
@pytest.mark.parametrize(("start", "last"), [(0, N_CODES), (64, 90), (2000, N_CODES), (50, 50)])
def test_near_codes_are_found(n_words: int, start: int, last: int) -> None:
    words, query = make_codes(n_words)
    limit = 32 * n_words - 4
    distances = unpack(words ^ query[:, None]).sum(axis=(0, 2))
    marks, near = kernels.make_buffers()
    n = kernels.find_near(words, start, last, query, n_words, limit, marks, near)
    stop = min(start + CODES_PER_RUN, last)
    assert near[:n].tolist() == [c for c in range(start, stop) if distances[c] <= limit]


@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
@pytest.mark.parametrize(("start", "last"), [(0, N_CODES), (64, 90), (50, 50)])
def test_near_codes_are_found_by_weights(n_words: int, start: int, last: int) -> None:
    words, query = make_codes(n_words)
    planes = rng.integers(0, 2**64, (PLANES_PER_PASS, n_words), np.uint64)
    weights = (unpack(planes) << np.arange(PLANES_PER_PASS)[:, None, None].astype(np.uint64)).sum(0)
    sums = np.einsum("wcb,wb->c", unpack(words ^ query[:, None]), weights)
    limit = int(np.median(sums))
    marks, near = kernels.make_buffers()
    n = kernels.find_near_weighted(words, start, last, query, planes, limit, marks, near)
    stop = min(start + CODES_PER_RUN, last)
    assert near[:n].tolist() == [c for c in range(start, stop) if sums[c] <= limit]
    assert kernels.sum_weights(words, 7, query, planes) == sums[7]
