"""Estimates of how long a case takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reproduction.experiments.estimates import GROWTH, Durations, format_duration
from reproduction.records import Case, RunRecords

CASE = Case("mnist", "ITQ", 64)


def test_estimate_is_the_median_of_other_seeds() -> None:
    records = RunRecords()
    quiet = {"map": 1.0, "fit_seconds": 1.0}
    records.add(replace(CASE, seed=1), quiet, 30)
    records.add(replace(CASE, seed=2), quiet, 50)
    records.add(replace(CASE, seed=3), {"map": 1.0}, 9999)  # on a busy machine
    records.add(replace(CASE, n_bits=32), quiet, 10)
    durations = Durations(records)
    assert durations.estimate(CASE) == 40
    assert durations.estimate(replace(CASE, n_bits=32)) == 10
    assert durations.estimate(replace(CASE, n_bits=16)) == 30


def test_estimate_without_records_grows_with_the_rows() -> None:
    estimate = Durations().estimate
    assert 0 < estimate(replace(CASE, n_rows=100)) < estimate(CASE)
    assert estimate(CASE) < estimate(replace(CASE, data="sift1m"))


def test_estimate_grows_with_the_base_set() -> None:
    def make(m: int) -> Case:
        return replace(CASE, options=(("n_base_points", m),))

    durations = Durations()
    durations.add(make(400), 3.0)
    durations.add(make(1000), 10.0)
    assert durations.estimate(make(2000)) == pytest.approx(10 * 2**GROWTH)
    assert durations.estimate(make(500)) == pytest.approx(3 * (500 / 400) ** GROWTH)
    assert durations.estimate(make(200)) == 3


def test_finished_runs_change_the_estimate() -> None:
    durations = Durations()
    before = durations.estimate(CASE)
    durations.add(replace(CASE, seed=3), 1000.0)
    assert durations.estimate(CASE) == 1000 != before


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (42.4, "42 s"), (90, "2 min"), (1200, "20 min"), (9000, "2.5 h")],
)
def test_durations_are_rounded(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
