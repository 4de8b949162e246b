"""Data, expected results and comparisons that the checks of stores share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from bitfold._types import Ids, UInt8Array
from bitfold.codes import Codes
from bitfold.search import Hits, RadiusHits


def random_items(
    n_bits: int, n_items: int, seed: int, n_queries: int = 4
) -> tuple[UInt8Array, Ids, UInt8Array]:
    """Return bits of codes that repeat, ids in random order, and bits of queries near codes."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2, (max(1, n_items // 2), n_bits), np.uint8)
    bits = pool[rng.integers(0, len(pool), n_items)]
    flips = (rng.random((n_queries, n_bits)) < 0.05).astype(np.uint8)
    queries = bits[rng.integers(0, n_items, n_queries)] ^ flips
    ids = rng.choice(np.arange(-200, 200), n_items, replace=False)
    return bits, ids.astype(np.int64), queries


def rank_all(queries: UInt8Array, bits: UInt8Array, ids: Ids) -> list[list[tuple[int, int]]]:
    """Return the pairs (distance, id) of each query in ascending order, one by one."""
    return [
        sorted((int((q != b).sum()), int(i)) for b, i in zip(bits, ids, strict=True))
        for q in queries
    ]


def pairs_of_hits(hits: Hits) -> list[list[tuple[int, int]]]:
    """Return the pairs (distance, id) of each query."""
    rows = zip(hits.distances.tolist(), hits.ids.tolist(), strict=True)
    return [list(zip(*row, strict=True)) for row in rows]


def pairs_of_radius_hits(hits: RadiusHits) -> list[list[tuple[int, int]]]:
    """Return the pairs (distance, id) of each query."""
    pairs = list(zip(hits.distances.tolist(), hits.ids.tolist(), strict=True))
    edges = hits.offsets.tolist()
    return [pairs[a:b] for a, b in itertools.pairwise(edges)]


def assert_equal(found: Any, expected: Any, subject: str) -> None:
    """Raise unless two values are equal."""
    assert found == expected, f"{subject} must be {expected}, got {found}"


def assert_same_results(found: Any, expected: Any, subject: str) -> None:
    """Raise unless two results have equal arrays of equal types; ``n_tied`` may be None."""
    for name, a, b in zip(expected._fields, found, expected, strict=True):
        if name == "n_tied" and a is None:
            continue
        assert a.dtype == b.dtype, f"{name} of {subject} must be {b.dtype}, got {a.dtype}"
        assert a.shape == b.shape, f"{name} of {subject} must have shape {b.shape}, got {a.shape}"
        assert np.array_equal(a, b), f"{name} of {subject} must be {b}, got {a}"


def assert_raises(
    call: Callable[[], object], subject: str, error: type[Exception] = ValueError
) -> None:
    """Raise unless a call raises ``error`` with a message of one line."""
    try:
        call()
    except error as raised:
        assert "\n" not in str(raised), f"the error of {subject} must have one line, got {raised}"
    else:
        raise AssertionError(f"{subject} must raise {error.__name__}")


def byte_codes(*values: int) -> Codes:
    """Return codes of 8 bits."""
    return Codes(np.array(values, np.uint8)[:, None], 8)
