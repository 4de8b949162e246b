"""The values that the authors' settings must reach."""

from __future__ import annotations

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.columns import BITFOLD, find_column
from reproduction.paper.targets import TARGETS, judge_targets
from reproduction.protocol import Protocol
from reproduction.shared_types import Record
from tests.reproduction.fake_records import make_record


def make_records(value: float) -> dict[str, list[Record]]:
    """Return fake records whose values as published are all the same; bitfold's are 0."""
    return {
        name: [
            make_record(case, 0.0 if find_column(case.method) == BITFOLD else value)
            for case in ARTIFACTS[name].cases(Protocol(2))
        ]
        for name in ("table-base-method", "table-base-size", "fig-classify")
    }


def test_all_targets_have_records() -> None:
    results = judge_targets(make_records(50.0))
    assert len(results) == len(TARGETS) == 21
    assert all(result.reached and result.reached.mean == 50 for result in results)
    assert {result.n_seeds for result in results} == {1, 2}  # pixels have one
    assert len({result.target.title for result in results}) == len(results)


@pytest.mark.parametrize(("value", "met"), [(93.9, 0), (94.05, 2), (95.0, 2), (95.2, 1), (19.0, 7)])
def test_values_within_the_limits_are_met(value: float, met: int) -> None:
    results = judge_targets(make_records(value))
    within = [-r.target.below <= value - r.target.paper <= r.target.above for r in results]
    assert [result.is_met for result in results] == within
    if value > 90:
        assert sum(within) == met + (value == 93.9)


def test_nothing_is_met_without_records() -> None:
    assert {result.is_met for result in judge_targets({})} == {None}
