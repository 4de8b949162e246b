"""Plans of joins: the parts of codes that find all pairs within a radius, and their cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold.search.parts import CodeSample, Parts, choose_parts
from bitfold.search.plan import Plan, choose_radii, count_flips, drop_unused, list_shapes

# Nanoseconds on one core; only the ratios matter.
_NS_PER_PAIR = 0.45
_NS_PER_READ_CODE = 8.0
_NS_PER_BUCKET = 10.0
_NS_PER_ROW = 150.0
_NS_PER_SORTED_CODE = 40.0

_N_MEASURED = 4
"""Number of plans that are compared by the sample; the others look worse even for random codes."""

ALL_CODES: Parts = ((),)
"""One part without bits, whose only bucket has all codes."""


class JoinSizes(NamedTuple):
    """How much is joined.

    Parameters
    ----------
    n_left, n_right
        Numbers of codes.
    is_self
        Whether codes are joined with themselves, so that only half of the pairs are compared.
    """

    n_left: int
    n_right: int
    is_self: bool

    @property
    def n_pairs(self) -> float:
        """Number of all pairs."""
        return self.n_left * self.n_right / (2 if self.is_self else 1)

    def estimate(self, n_bits: int, n_flips: float, share: float, ns_per_pair: float) -> float:
        """Return the nanoseconds to join by one part."""
        n_sorted = self.n_left + (0 if self.is_self else self.n_right)
        n_buckets = min(self.n_left, 1 << n_bits)
        return (
            _NS_PER_SORTED_CODE * n_sorted
            + _NS_PER_ROW * self.n_left
            + _NS_PER_BUCKET * n_buckets * n_flips
            + ns_per_pair * self.n_pairs * share
        )


def plan_join(sample: CodeSample, sizes: JoinSizes, radius: int) -> Plan:
    """Return the cheapest plan to find all pairs; the targets of the sample are left codes."""
    ns_per_pair = _NS_PER_PAIR
    if sample.n_words > 1:
        ns_per_pair += _NS_PER_READ_CODE * sample.share_within(radius, 0, 1)
    best = Plan(ALL_CODES, (0,), sizes.estimate(0, 1, 1.0, ns_per_pair), 0)
    shapes = []
    for n_parts, width in list_shapes(sample, radius, np.inf):
        reach = radius // n_parts
        n_flips = count_flips(width, min(reach, width))
        ns = sizes.estimate(width, n_flips, n_flips / 2**width, ns_per_pair)
        shapes.append((n_parts * ns, n_parts, width))
    for _, n_parts, width in sorted(shapes)[:_N_MEASURED]:
        parts = choose_parts(sample.differences, n_parts, width)
        best = min(best, _rate_join(sample, sizes, parts, radius, ns_per_pair), key=_cost_of)
    return best


def _rate_join(
    sample: CodeSample, sizes: JoinSizes, parts: Parts, radius: int, ns_per_pair: float
) -> Plan:
    """Return the best radii for some parts, and what the join then costs."""
    shares = sample.measure(parts).mean(axis=0)
    costs = np.array(
        [
            [
                sizes.estimate(len(part), count_flips(len(part), r), share, ns_per_pair)
                for r, share in enumerate(row)
            ]
            for part, row in zip(parts, shares, strict=True)
        ]
    )
    radii = choose_radii(costs, [len(part) for part in parts], radius)
    ns = float(sum(costs[p, r] for p, r in enumerate(radii) if r >= 0))
    return drop_unused(Plan(parts, radii, ns, 0))


def _cost_of(plan: Plan) -> float:
    return plan.ns
