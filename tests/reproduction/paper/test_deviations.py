"""Differences from the paper, and their reasons."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from reproduction.columns import PUBLISHED, select_column
from reproduction.experiments.methods import SCAN
from reproduction.paper.checks import Measured, Setting
from reproduction.paper.deviations import (
    CODE_GAIN,
    PIXEL_GAIN,
    UNKNOWN_REASON,
    ComparedValue,
    Reason,
    find_reason,
)
from reproduction.paper.reported import Reported
from reproduction.records import RunRecords
from scipy import stats

from reproduction.paper import deviations


def make_value(mean: float, reported: Reported, n_seeds: int = 5) -> ComparedValue:
    options = {"n_base_points": 100}
    return ComparedValue("map", "mnist", "IMH-tSNE", 64, options, mean, 1.2, n_seeds, reported)


def test_the_interval_is_that_of_welch() -> None:
    value = make_value(58.5, Reported(57.01, 0.5))
    test = stats.ttest_ind_from_stats(58.5, 1.2, 5, 57.01, 0.5, 10, equal_var=False)
    critical = stats.t.ppf(0.975, test.df) if hasattr(test, "df") else None
    assert value.difference == pytest.approx(1.49)
    expected = abs(value.difference / test.statistic)
    assert value.half_width == pytest.approx(expected * (critical or value.half_width / expected))
    assert value.differs == (test.pvalue < 0.05)


def test_without_a_deviation_of_the_paper_ours_is_used() -> None:
    with_own = make_value(58.5, Reported(57.01, 1.2))
    assert make_value(58.5, Reported(57.01)).half_width == with_own.half_width


def test_one_seed_never_differs() -> None:
    value = make_value(99.0, Reported(57.01), n_seeds=1)
    assert value.half_width == math.inf
    assert not value.differs


def test_first_reason_that_applies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = [
        Reason("table", lambda value: value.method == "AGH", "of AGH"),
        Reason("table", lambda _: True, "of all"),
    ]
    monkeypatch.setattr(deviations, "REASONS", reasons)
    value = make_value(58.0, Reported(57.01))
    assert find_reason("table", value) == "of all"
    assert find_reason("table", value._replace(method="AGH")) == "of AGH"
    assert find_reason("figure", value) == UNKNOWN_REASON


def test_gains_by_one_versus_one_are_those_of_the_records() -> None:
    path = Path(__file__).parents[3] / "docs" / "report" / "records.jsonl"
    known = (r for r in RunRecords(path) if r["case"]["measure"] == "classification")
    measured = Measured(select_column(known, PUBLISHED))
    for setting, gain in ((Setting(SCAN, 0), PIXEL_GAIN), (Setting("IMH-tSNE", 128), CODE_GAIN)):
        pairs, rest = (
            measured.mean(name, "mnist", setting).mean for name in ("accuracy_ovo", "accuracy")
        )
        assert pairs - rest == pytest.approx(gain, abs=0.1)
