"""Differences from the paper, and their reasons."""

from __future__ import annotations

import pytest
from reproduction.paper.deviations import UNKNOWN_REASON, ComparedValue, find_reason
from reproduction.paper.reported import Reported


def make_value(mean: float, reported: Reported) -> ComparedValue:
    options = {"n_base_points": 100}
    return ComparedValue("map", "mnist", "IMH-tSNE", 64, options, mean, 1.2, reported)


@pytest.mark.parametrize(
    ("mean", "reported", "differs"),
    [
        (58.0, Reported(57.01), False),
        (58.5, Reported(57.01), True),
        # The deviation that the paper states takes precedence over ours, 1.2.
        (58.0, Reported(57.01, 0.5), True),
    ],
)
def test_difference_is_compared_with_the_deviation(
    mean: float, reported: Reported, differs: bool
) -> None:
    assert make_value(mean, reported).differs == differs


def test_first_reason_that_applies_is_found() -> None:
    value = make_value(58.0, Reported(57.01))
    assert "perplexity" in find_reason("table-base-method", value)
    assert "AGH" in find_reason("table-base-method", value._replace(method="AGH"))
    assert find_reason("fig-mnist", value) == UNKNOWN_REASON
