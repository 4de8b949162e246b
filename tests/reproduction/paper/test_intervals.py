"""Confidence intervals over seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reproduction.paper.intervals import Estimate, estimate_difference, estimate_mean
from scipy import stats

HIGH = [19.0, 19.4, 18.7, 19.1, 19.3]
LOW = [18.1, 18.6, 18.0, 18.2, 18.3]


def by_seed(values: list[float], start: int = 0) -> dict[int, float]:
    return dict(enumerate(values, start))


def test_mean_has_the_interval_of_scipy() -> None:
    interval = stats.ttest_1samp(HIGH, 0).confidence_interval(0.95)
    assert estimate_mean(HIGH) == pytest.approx((np.mean(HIGH), interval.low, interval.high))


def test_equal_seeds_are_compared_in_pairs() -> None:
    interval = stats.ttest_rel(HIGH, LOW).confidence_interval(0.95)
    found = estimate_difference(by_seed(HIGH), by_seed(LOW))
    assert found == pytest.approx((np.mean(HIGH) - np.mean(LOW), interval.low, interval.high))


def test_other_seeds_are_compared_by_welch() -> None:
    test = stats.ttest_ind(HIGH, LOW[:3], equal_var=False)
    interval = test.confidence_interval(0.95)
    found = estimate_difference(by_seed(HIGH), by_seed(LOW[:3], 7))
    assert found[1:] == pytest.approx((interval.low, interval.high))


def test_one_seed_has_no_interval() -> None:
    found = estimate_difference(by_seed([3.0]), by_seed([2.0]))
    assert found == Estimate(1.0, -math.inf, math.inf)
    assert not found.is_clear
    assert estimate_mean([3.0]).high == math.inf


def test_values_without_spread_are_exact() -> None:
    assert estimate_difference(by_seed([3.0] * 3), by_seed([2.0])) == (1.0, 1.0, 1.0)
    assert estimate_mean([2.0, 2.0]) == (2.0, 2.0, 2.0)


def test_strength_has_no_unit() -> None:
    assert Estimate(2.0, 1.0, 3.0).strength == Estimate(0.5, 0.25, 0.75).strength == 2
    assert Estimate(-1.0, -math.inf, math.inf).strength == 0
    assert Estimate(-1.0, -1.0, -1.0).strength == -math.inf
    assert Estimate(0.0, 0.0, 0.0).strength == 0


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.1, 2, True), (-2, -0.1, True), (-1, 1, False)]
)
def test_an_interval_without_zero_is_clear(low: float, high: float, expected: bool) -> None:
    assert Estimate(0.0, low, high).is_clear is expected
