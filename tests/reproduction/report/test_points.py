"""Means and deviations over seeds."""

from __future__ import annotations

from statistics import stdev

import pytest
from reproduction.records import Case
from reproduction.report.points import describe_seeds, gather_points, get_n_bits
from tests.reproduction.fake_records import make_record

VALUES = [10.0, 11.0, 13.0]
RECORDS = [make_record(Case("mnist", "ITQ", 64, i), value) for i, value in enumerate(VALUES)]


def test_the_deviation_is_that_of_a_sample() -> None:
    (point,) = gather_points(RECORDS, "map", get_n_bits)
    assert point.deviation == pytest.approx(stdev(VALUES))
    assert (point.x, point.n_seeds) == (64, 3)


def test_one_seed_has_no_deviation() -> None:
    (point,) = gather_points(RECORDS[:1], "map", get_n_bits)
    assert (point.mean, point.deviation) == (10.0, 0.0)


def test_seeds_are_counted_per_setting() -> None:
    assert describe_seeds(RECORDS) == "3 seeds"
    other = make_record(Case("mnist", "ITQ", 32))
    assert describe_seeds([*RECORDS, other]) == "1 to 3 seeds"
    assert describe_seeds([other]) == "1 seed"
