"""What the paper's words of degree require of a comparison: much, large, slightly, significantly.

The words have the same meaning for every measure and data set.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from reproduction.paper.intervals import Estimate, Values, estimate_difference, scale_values

LARGE = 0.1
"""Fraction of the rival's value from which a lead is large.

The numbers that the paper prints separate its words here: Table I has 11 to 33 % for "much better"
(IMH-LE and AGH) and 5 % for "slightly better" (IMH-tSNE and IMH-LE), and Table II has 7 % for what
"does not change dramatically" (CIFAR-10, from 400 base points).
"""


MUCH_FASTER = 2.0
"""Ratio of times that counts as much faster or slower, or as considerably more."""


class Degree(NamedTuple):
    """How far a value must be above another.

    Parameters
    ----------
    at_least, at_most
        Limits of the lead, as fractions of the rival's value.
    is_significant
        Whether the 95 % interval must be above zero, instead of the mean alone.
    """

    at_least: float = 0.0
    at_most: float = math.inf
    is_significant: bool = False

    @property
    def criterion(self) -> str:
        """The requirement in words, for a statement."""
        if self.is_significant:
            return "the 95 % interval is above zero"
        if self.at_least:
            return f"by more than {100 * self.at_least:g} %"
        return f"by less than {100 * self.at_most:g} %"

    def measure_margin(self, high: Values, low: Values) -> Estimate:
        """Return how far the lead of ``high`` is inside the limits."""
        above = estimate_difference(high, scale_values(1 + self.at_least, low))
        if math.isinf(self.at_most):
            return above
        below = estimate_difference(scale_values(1 + self.at_most, low), high)
        return min(above, below, key=lambda margin: margin.mean)

    def holds(self, margin: Estimate) -> bool:
        """Return whether a margin is what the words require."""
        return (margin.low if self.is_significant else margin.mean) > 0

    def describe(self, rival: float, n_digits: int) -> str:
        """Return the limit in numbers, with a leading separator; empty if there is none."""
        if self.at_least:
            return f"; more than {self.at_least * rival:+.{n_digits}f} required"
        if not math.isinf(self.at_most):
            return f"; at most {self.at_most * rival:+.{n_digits}f} allowed"
        return ""


ANY = Degree()
"""Better, superior, above: the sign of the difference."""

MUCH = Degree(at_least=LARGE)
"""Much better, by a large margin, considerable gains, greatly, very useful."""

SLIGHTLY = Degree(at_most=LARGE)
"""Slightly better, a small advantage: above, but not by a large margin."""

SIGNIFICANTLY = Degree(is_significant=True)
"""Significantly better, as in statistics: the difference is not noise of the seeds."""


def measure_stability(start: Values, other: Values) -> Estimate:
    """Return how far a change, up or down, is below what would be large."""
    rise = estimate_difference(scale_values(1 + LARGE, start), other)
    fall = estimate_difference(other, scale_values(1 - LARGE, start))
    return min(rise, fall, key=lambda margin: margin.mean)
