"""Problems of codes that need no queries: constant bits, redundant bits, crowded buckets."""

from __future__ import annotations

import numpy as np

from bitfold._types import AnyArray, Float64Array, UInt8Array
from bitfold.explorer.statistics_schemas import Finding

MIN_BALANCE = 0.01
"""A bit is called constant if its rarer value occurs less often than this."""

MAX_IMBALANCE = 0.15
"""Mean distance of the bits from an even share, above which they are called unbalanced."""

MAX_CORRELATION = 0.95
"""Bits with a larger correlation are called redundant."""

MAX_REDUNDANT = 0.75
"""Fraction of redundant bits above which the finding is bad."""

FAIR_BUCKET, BAD_BUCKET = 0.05, 0.25
"""If the largest bucket has more than these fractions of all items, the finding is fair or bad."""

FAIR_ENTROPY = 0.7
"""Fraction of the largest possible entropy below which items share too many codes."""


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


def find_problems(
    balance: Float64Array, correlation: Float64Array, largest: float, entropy_share: float
) -> list[Finding]:
    """Describe the problems of codes; there may be none.

    Parameters
    ----------
    balance
        Fraction of ones per bit.
    correlation
        Correlations of the bits.
    largest
        Fraction of all items in the largest bucket.
    entropy_share
        Entropy of the buckets, as a fraction of the largest possible one.

    Returns
    -------
    list
        One sentence per problem.
    """
    problems = (
        _about_balance(balance),
        _about_correlation(correlation),
        _about_buckets(largest),
        _about_entropy(entropy_share),
    )
    return [problem for problem in problems if problem]


def _about_balance(balance: Float64Array) -> Finding | None:
    constant = np.flatnonzero(np.minimum(balance, 1 - balance) < MIN_BALANCE)
    if len(constant):
        verb = "is" if len(constant) == 1 else "are"
        which = f"{len(constant)} of {len(balance)} bits {verb} the same for nearly all items"
        return Finding(level="bad", sentence=f"{which}: {_format_bits(constant)}.")
    off = float(np.abs(balance - 0.5).mean())
    if off <= MAX_IMBALANCE:
        return None
    sentence = f"The bits are unbalanced: {off:.0%} away from one half on average."
    return Finding(level="fair", sentence=sentence)


def _about_correlation(correlation: Float64Array) -> Finding | None:
    same = np.abs(np.triu(correlation, 1)) > MAX_CORRELATION
    repeated = np.flatnonzero(same.any(axis=0))
    if not len(repeated):
        return None
    level = "bad" if len(repeated) / len(correlation) > MAX_REDUNDANT else "fair"
    verbs = "repeats or negates" if len(repeated) == 1 else "repeat or negate"
    which = f"{len(repeated)} of {len(correlation)} bits {verbs} an earlier one"
    return Finding(level=level, sentence=f"{which}: {_format_bits(repeated)}.")


def _about_buckets(largest: float) -> Finding | None:
    if largest <= FAIR_BUCKET:
        return None
    level = "bad" if largest > BAD_BUCKET else "fair"
    return Finding(level=level, sentence=f"{largest:.0%} of all items have the same code.")


def _about_entropy(share: float) -> Finding | None:
    if share >= FAIR_ENTROPY:
        return None
    sentence = (
        f"Many items share a code: the entropy of the buckets is {share:.0%} of the largest "
        f"possible one."
    )
    return Finding(level="fair", sentence=sentence)


def _format_bits(bits: AnyArray) -> str:
    some = ", ".join(str(bit) for bit in bits[:8])
    return some + (f" and {len(bits) - 8} more" if len(bits) > 8 else "")
