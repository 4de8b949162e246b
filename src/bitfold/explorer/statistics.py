"""Bit statistics: balance, correlation, bucket sizes, and agreement of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from bitfold._types import AnyArray, Float64Array, Ids, UInt8Array
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.schemas import Item

MAX_SAMPLED_BUCKETS = 1 << 16
"""Maximum number of buckets from which bit statistics are estimated."""

MIN_BALANCE = 0.01
"""A bit is called constant if its rarer value occurs less often than this."""

MAX_IMBALANCE = 0.15
"""Mean distance of the bits from an even share, above which they are called unbalanced."""

MAX_CORRELATION = 0.95
"""Bits with a larger correlation are called redundant."""

MAX_REDUNDANT = 0.75
"""Fraction of redundant bits above which the verdict is bad."""

FAIR_BUCKET, BAD_BUCKET = 0.25, 0.5
"""Fractions of all items in the largest bucket, above which the verdict is fair or bad."""

N_NEIGHBORS = 10
"""Number of nearest items whose labels are compared."""

GOOD_AGREEMENT, FAIR_AGREEMENT = 0.4, 0.1
"""Agreement of the labels between chance (0) and complete (1), above which it is good or fair."""

_N_QUERIES = 200
_N_SHOWN_BUCKETS = 6
_N_SHOWN_MEMBERS = 4


@dataclass(frozen=True)
class Finding:
    """One sentence about a model, and its level: "good", "fair" or "bad"."""

    level: str
    sentence: str


@dataclass(frozen=True)
class Bucket:
    """A frequent code, and the first items that have it."""

    size: int
    items: list[Item]


@dataclass(frozen=True)
class SizeClass:
    """The number of buckets with ``low`` to ``high`` items, and the number of items in them."""

    low: int
    high: int
    n_buckets: int
    n_items: int


@dataclass(frozen=True)
class LabelPrecision:
    """Fraction of the nearest items with the label of the query, and the fraction by chance."""

    value: float
    chance: float
    n_queries: int


@dataclass(frozen=True)
class BitStatistics:
    """Statistics of the codes of a model."""

    n_items: int
    n_bits: int
    n_distinct: int
    # The number of balanced, independent bits of equal worth.
    entropy: Annotated[float, Field(description="Entropy of the buckets, in bits.")]
    balance: Annotated[list[float], Field(description="Fraction of ones per bit.")]
    correlation: list[list[float]]
    sizes: list[SizeClass]
    largest: list[Bucket]
    precision: LabelPrecision | None
    findings: list[Finding]


def compute_statistics(model: IndexedModel, items: Items) -> BitStatistics:
    """Compute statistics of all buckets, and of the bits of a sample of them."""
    sizes = model.sizes
    share = sizes / sizes.sum()
    n = model.n_distinct
    chosen = np.linspace(0, n - 1, min(n, MAX_SAMPLED_BUCKETS)).astype(np.int64)
    balance, correlation = correlations(model.bits(chosen), sizes[chosen].astype(np.float64))
    precision = _measure_precision(model, items)
    findings = _findings(balance, correlation, float(share.max()), precision)
    return BitStatistics(
        n_items=int(sizes.sum()),
        n_bits=model.n_bits,
        n_distinct=len(sizes),
        entropy=abs(float(-(share * np.log2(share)).sum())),
        balance=np.round(balance, 4).tolist(),
        correlation=np.round(correlation, 3).tolist(),
        sizes=_size_classes(sizes),
        largest=_largest(model, items),
        precision=precision,
        findings=findings,
    )


def correlations(bits: UInt8Array, weights: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the fraction of ones per bit, and the correlations of the bits, 0 for constant ones.

    Parameters
    ----------
    bits
        0 and 1, one row per code.
    weights
        Relative frequency of each code.

    Returns
    -------
    tuple
        Fractions, shape (n_bits,), and correlations, shape (n_bits, n_bits).
    """
    share = weights / weights.sum()
    balance = share @ bits
    centered = (bits - balance) * np.sqrt(share)[:, None]
    covariance = centered.T @ centered
    deviation = np.sqrt(np.diag(covariance))
    scale = np.outer(deviation, deviation)
    matrix = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 1e-12)
    return balance, np.clip(matrix, -1, 1)


def _size_classes(sizes: Ids) -> list[SizeClass]:
    """Group buckets by size: 1, 2 to 3, 4 to 7 and so on."""
    doublings = np.log2(sizes).astype(int)
    n_buckets = np.bincount(doublings)
    n_items = np.bincount(doublings, weights=sizes).astype(int)
    return [
        SizeClass(1 << i, (2 << i) - 1, int(n_buckets[i]), int(n_items[i]))
        for i in range(len(n_buckets))
    ]


def _largest(model: IndexedModel, items: Items) -> list[Bucket]:
    order = np.argsort(-model.sizes, kind="stable")[:_N_SHOWN_BUCKETS].tolist()
    members = [model.members(bucket, _N_SHOWN_MEMBERS).tolist() for bucket in order]
    shown = [list(map(items.describe, ids)) for ids in members]
    return list(map(Bucket, model.sizes[order].tolist(), shown))


def _measure_precision(model: IndexedModel, items: Items) -> LabelPrecision | None:
    """Measure how often the nearest items of some items have the same label."""
    labels = items.labels_of(model.ids)
    labeled = model.ids[labels != UNLABELED]
    if len(labeled) < 2:
        return None
    spread = np.linspace(0, len(labeled) - 1, min(len(labeled), _N_QUERIES)).astype(int)
    shares = [_share_alike(model, items, int(item)) for item in np.unique(labeled[spread])]
    classes = np.bincount(labels[labels != UNLABELED]) / len(labeled)
    return LabelPrecision(float(np.mean(shares)), float((classes**2).sum()), len(shares))


def _share_alike(model: IndexedModel, items: Items, item: int) -> float:
    found = model.nearest(model.codes([item]), N_NEIGHBORS, exclude=item).ids[0]
    return float(np.mean(items.labels_of(found) == items.labels_of(np.array([item]))))


def _findings(
    balance: Float64Array,
    correlation: Float64Array,
    largest: float,
    precision: LabelPrecision | None,
) -> list[Finding]:
    """Describe the problems of a model, or that there are none."""
    problems = (_about_balance(balance), _about_correlation(correlation), _about_buckets(largest))
    found = [problem for problem in problems if problem]
    if not found:
        praise = "The bits are balanced and independent, and no bucket is overcrowded."
        found = [Finding("good", praise)]
    return found if precision is None else [_about_precision(precision), *found]


def _about_balance(balance: Float64Array) -> Finding | None:
    constant = np.flatnonzero(np.minimum(balance, 1 - balance) < MIN_BALANCE)
    if len(constant):
        which = f"{len(constant)} of {len(balance)} bits are the same for nearly all items"
        return Finding("bad", f"{which}: {_format_bits(constant)}.")
    off = float(np.abs(balance - 0.5).mean())
    if off <= MAX_IMBALANCE:
        return None
    return Finding("fair", f"The bits are unbalanced: {off:.0%} away from one half on average.")


def _about_correlation(correlation: Float64Array) -> Finding | None:
    same = np.abs(np.triu(correlation, 1)) > MAX_CORRELATION
    repeated = np.flatnonzero(same.any(axis=0))
    if not len(repeated):
        return None
    level = "bad" if len(repeated) / len(correlation) > MAX_REDUNDANT else "fair"
    which = f"{len(repeated)} of {len(correlation)} bits repeat or negate an earlier one"
    return Finding(level, f"{which}: {_format_bits(repeated)}.")


def _about_buckets(largest: float) -> Finding | None:
    if largest <= FAIR_BUCKET:
        return None
    level = "bad" if largest > BAD_BUCKET else "fair"
    return Finding(level, f"{largest:.0%} of all items have the same code.")


def _about_precision(precision: LabelPrecision) -> Finding:
    # 0 is chance, 1 is complete agreement.
    gained = (precision.value - precision.chance) / max(1 - precision.chance, 1e-9)
    level = "good" if gained > GOOD_AGREEMENT else "fair" if gained > FAIR_AGREEMENT else "bad"
    nearest = f"{precision.value:.0%} of the {N_NEIGHBORS} nearest items have the query's label"
    return Finding(level, f"{nearest}; {precision.chance:.0%} by chance.")


def _format_bits(bits: AnyArray) -> str:
    some = ", ".join(str(bit) for bit in bits[:8])
    return some + (f" and {len(bits) - 8} more" if len(bits) > 8 else "")
