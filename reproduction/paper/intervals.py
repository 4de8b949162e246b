"""Means over seeds, and 95 % confidence intervals of means and differences (Student's t)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from scipy.stats import t

CONFIDENCE = 0.95

Values = Mapping[int, float]
"""Values of one setting by seed."""


class Estimate(NamedTuple):
    """A mean and its confidence interval, which is infinite if there is only one value."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def strength(self) -> float:
        """The mean in units of half the interval, so that values of any unit can be compared."""
        half = (self.high - self.low) / 2
        if half:
            return self.mean / half
        return math.copysign(math.inf, self.mean) if self.mean else 0.0


def estimate_mean(values: Sequence[float]) -> Estimate:
    """Return the mean of values and its interval.

    Values that are all equal come from a method without randomness: the interval has no width.
    """
    mean = fmean(values)
    if len(values) < 2:
        return Estimate(mean, -math.inf, math.inf)
    half = _critical_value(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half)


def estimate_difference(high: Values, low: Values) -> Estimate:
    """Return by how much one setting is above another, with its interval.

    Runs of the same seed are compared with each other, because they share their base set. Without
    two common seeds, the intervals of both means are added as variances (Welch).
    """
    common = sorted(high.keys() & low.keys())
    if len(common) > 1 and len(common) == len(high) == len(low):
        return estimate_mean([high[seed] - low[seed] for seed in common])
    return _welch(list(high.values()), list(low.values()))


def estimate_ratio(high: Values, low: Values) -> Estimate:
    """Return the logarithm of the ratio of two settings, whose values are positive."""
    logs = ({seed: math.log(value) for seed, value in own.items()} for own in (high, low))
    return estimate_difference(*logs)


def subtract_from(limit: float, estimate: Estimate) -> Estimate:
    """Return how far an estimate is below a limit."""
    return Estimate(limit - estimate.mean, limit - estimate.high, limit - estimate.low)


def scale_values(factor: float, values: Values) -> dict[int, float]:
    """Return values times a factor."""
    return {seed: factor * value for seed, value in values.items()}


def _welch(high: Sequence[float], low: Sequence[float]) -> Estimate:
    difference = fmean(high) - fmean(low)
    parts = [
        (stdev(values) ** 2 / len(values), len(values)) for values in (high, low) if len(values) > 1
    ]
    if not parts:
        return Estimate(difference, -math.inf, math.inf)
    variance = sum(part for part, _ in parts)
    if not variance:
        return Estimate(difference, difference, difference)
    freedom = variance**2 / sum(part**2 / (n - 1) for part, n in parts)
    half = _critical_value(freedom) * math.sqrt(variance)
    return Estimate(difference, difference - half, difference + half)


def _critical_value(freedom: float) -> float:
    return float(t.ppf((1 + CONFIDENCE) / 2, freedom))
