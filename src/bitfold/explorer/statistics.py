"""Bit statistics: whether the bits of a model are worth their place, seen at a glance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold._types import AnyArray, Float64Array, Ids, UInt8Array
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import Coded

SAMPLE = 1 << 16
"""Buckets that bits are looked at in, at most."""

CONSTANT = 0.01
"""A bit that fewer items than this share have, or lack, tells nothing."""

LOPSIDED = 0.15
"""Bits whose mean distance from an even share is more than this tell little."""

SAME = 0.95
"""Bits that are correlated more than this say the same."""

REDUNDANT = 0.75
"""Share of such bits from which on a code is hardly one."""

CROWDED, OVERCROWDED = 0.25, 0.5
"""Shares of all items in one bucket."""

NEIGHBORS = 10
"""Nearest items whose classes are looked at."""

GOOD, POOR = 0.4, 0.1
"""How far from chance (0) to all (1) the labels of the nearest must agree."""

_QUERIES = 200
_SHOWN_BUCKETS = 6
_SHOWN_MEMBERS = 4


class Finding(NamedTuple):
    """One sentence about a model, and how grave it is: "good", "fair" or "bad"."""

    level: str
    sentence: str


class Bucket(NamedTuple):
    """A code, how many items have it, and the first of them."""

    size: int
    ids: list[int]


class SizeClass(NamedTuple):
    """Buckets of ``low`` to ``high`` items: how many there are, and of how many items in all."""

    low: int
    high: int
    n_buckets: int
    n_items: int


class Precision(NamedTuple):
    """Share of the nearest items that have the query's label, and what chance would give."""

    value: float
    chance: float
    n_queries: int


class Statistics(NamedTuple):
    """What the codes of a model are like."""

    n_items: int
    n_bits: int
    n_distinct: int
    entropy: float
    """Of the buckets, in bits: how many even and independent bits would tell as much."""
    balance: list[float]
    """Share of ones of each bit."""
    correlation: list[list[float]]
    sizes: list[SizeClass]
    largest: list[Bucket]
    precision: Precision | None
    findings: list[Finding]


def describe(coded: Coded, items: Items) -> Statistics:
    """Look at all buckets of a model, and at the bits of a sample of them."""
    sizes = coded.sizes
    share = sizes / sizes.sum()
    balance, correlation = _bits(coded)
    precision = _precision(coded, items)
    findings = _findings(balance, correlation, float(share.max()), precision)
    return Statistics(
        n_items=int(sizes.sum()),
        n_bits=coded.n_bits,
        n_distinct=len(sizes),
        entropy=abs(float(-(share * np.log2(share)).sum())),
        balance=np.round(balance, 4).tolist(),
        correlation=np.round(correlation, 3).tolist(),
        sizes=_size_classes(sizes),
        largest=_largest(coded),
        precision=precision,
        findings=findings,
    )


def correlations(bits: UInt8Array, weights: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the share of ones of each bit, and the bits' correlations, 0 for constant ones.

    Parameters
    ----------
    bits
        0 and 1, one code a row.
    weights
        How often each code stands, relative to the others.
    """
    share = weights / weights.sum()
    balance = share @ bits
    centered = (bits - balance) * np.sqrt(share)[:, None]
    covariance = centered.T @ centered
    deviation = np.sqrt(np.diag(covariance))
    scale = np.outer(deviation, deviation)
    matrix = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 1e-12)
    return balance, np.clip(matrix, -1, 1)


def _bits(coded: Coded) -> tuple[Float64Array, Float64Array]:
    n = coded.n_distinct
    chosen = np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)
    return correlations(coded.bits(chosen), coded.sizes[chosen].astype(np.float64))


def _size_classes(sizes: Ids) -> list[SizeClass]:
    """Sort buckets by size: 1, 2 to 3, 4 to 7 and so on."""
    doublings = np.log2(sizes).astype(int)
    n_buckets = np.bincount(doublings)
    n_items = np.bincount(doublings, weights=sizes).astype(int)
    return [
        SizeClass(1 << i, (2 << i) - 1, int(n_buckets[i]), int(n_items[i]))
        for i in range(len(n_buckets))
    ]


def _largest(coded: Coded) -> list[Bucket]:
    order = np.argsort(-coded.sizes, kind="stable")[:_SHOWN_BUCKETS]
    return [
        Bucket(int(coded.sizes[bucket]), coded.members(int(bucket), _SHOWN_MEMBERS).tolist())
        for bucket in order
    ]


def _precision(coded: Coded, items: Items) -> Precision | None:
    """Measure, for some items, how many of their nearest have the same label."""
    labels = items.labels_of(coded.ids)
    labeled = coded.ids[labels != UNLABELED]
    if len(labeled) < 2:
        return None
    spread = np.linspace(0, len(labeled) - 1, min(len(labeled), _QUERIES)).astype(int)
    shares = [_share_alike(coded, items, int(item)) for item in np.unique(labeled[spread])]
    classes = np.bincount(labels[labels != UNLABELED]) / len(labeled)
    return Precision(float(np.mean(shares)), float((classes**2).sum()), len(shares))


def _share_alike(coded: Coded, items: Items, item: int) -> float:
    found = coded.nearest(coded.codes([item]), NEIGHBORS, but=item).ids[0]
    return float(np.mean(items.labels_of(found) == items.labels_of(np.array([item]))))


def _findings(
    balance: Float64Array, correlation: Float64Array, largest: float, precision: Precision | None
) -> list[Finding]:
    """Say what is wrong with a model, or that nothing is."""
    found = [
        *_about_balance(balance),
        *_about_correlation(correlation),
        *_about_buckets(largest),
    ]
    if not found:
        found = [Finding("good", "Bits are even, differ from one another, and share out well.")]
    return found if precision is None else [_about_precision(precision), *found]


def _about_balance(balance: Float64Array) -> list[Finding]:
    constant = np.flatnonzero(np.minimum(balance, 1 - balance) < CONSTANT)
    if len(constant):
        which = f"{len(constant)} of {len(balance)} bits are the same for nearly all items"
        return [Finding("bad", f"{which}: {_listed(constant)}.")]
    off = float(np.abs(balance - 0.5).mean())
    if off > LOPSIDED:
        return [Finding("fair", f"Bits are lopsided: {off:.0%} from an even share, on average.")]
    return []


def _about_correlation(correlation: Float64Array) -> list[Finding]:
    same = np.abs(np.triu(correlation, 1)) > SAME
    repeated = np.flatnonzero(same.any(axis=0))
    if not len(repeated):
        return []
    share = len(repeated) / len(correlation)
    which = f"{len(repeated)} of {len(correlation)} bits repeat or negate an earlier one"
    return [Finding("bad" if share > REDUNDANT else "fair", f"{which}: {_listed(repeated)}.")]


def _about_buckets(largest: float) -> list[Finding]:
    if largest <= CROWDED:
        return []
    level = "bad" if largest > OVERCROWDED else "fair"
    return [Finding(level, f"{largest:.0%} of all items have one and the same code.")]


def _about_precision(precision: Precision) -> Finding:
    # How far between chance and all.
    gained = (precision.value - precision.chance) / max(1 - precision.chance, 1e-9)
    level = "good" if gained > GOOD else "fair" if gained > POOR else "bad"
    nearest = f"{precision.value:.0%} of the {NEIGHBORS} nearest items have the query's label"
    return Finding(level, f"{nearest}; by chance {precision.chance:.0%} would.")


def _listed(bits: AnyArray) -> str:
    some = ", ".join(str(bit) for bit in bits[:8])
    return some + (f" and {len(bits) - 8} more" if len(bits) > 8 else "")
