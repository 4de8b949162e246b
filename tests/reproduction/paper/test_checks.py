"""Comparisons of records."""

from __future__ import annotations

import pytest
from reproduction.experiments.methods import SCAN
from reproduction.paper.checks import (
    Check,
    Measured,
    MissingRecordsError,
    NoSuchCodesError,
    Setting,
    beats,
    is_near,
    takes_times,
)
from reproduction.paper.degrees import ANY, SIGNIFICANTLY, SLIGHTLY, Degree
from reproduction.records import Case
from reproduction.shared_types import Record
from tests.reproduction.fake_records import make_record


def make_records(method: str, *values: float, n_bits: int = 64) -> list[Record]:
    cases = [Case("mnist", method, n_bits, seed) for seed in range(len(values))]
    return [make_record(case, value) for case, value in zip(cases, values, strict=True)]


RECORDS = [*make_records("ITQ", 40.0, 42.0), *make_records("SH", 30.0, 31.0)]


def check(*records: Record, degree: Degree = ANY, rival: str = "SH") -> list[Check]:
    checks = beats("map", "mnist", ["ITQ"], [rival], [64], degree=degree)
    return list(checks(Measured(records)))


def test_values_are_those_of_one_setting() -> None:
    cases = [
        Case("mnist", "AGH", 64, seed, options=(("n_base_points", m),))
        for m in (1, 2)
        for seed in (0, 4)
    ]
    measured = Measured(make_record(case, 10.0 * dict(case.options)["n_base_points"] + case.seed)
                        for case in cases)  # fmt: skip
    assert measured.values("map", "mnist", Setting("AGH", 64, (("n_base_points", 1),))) == {
        0: 10.0, 4: 14.0,
    }  # fmt: skip
    assert measured.mean("map", "mnist", Setting("AGH", 64, (("n_base_points", 2),))).mean == 22
    with pytest.raises(MissingRecordsError):
        measured.values("map", "mnist", Setting("AGH", 32))


def test_a_value_of_a_curve_is_found_by_its_cutoff() -> None:
    measured = Measured(RECORDS)
    assert measured.mean("precision_at 100", "mnist", Setting("ITQ", 64)).mean == 60


def test_the_margin_has_an_interval() -> None:
    (found,) = check(*RECORDS)
    assert found.holds
    assert found.margin.mean == 10.5
    assert found.margin.low < 10.5 < found.margin.high
    assert found.text.startswith("64 bits: ITQ 41.00, SH 30.50 (+10.50, 95 % interval ")


def test_a_margin_can_be_required() -> None:
    """The lead is 10.5, a third of the rival's 30.5."""
    (enough,) = check(*RECORDS, degree=Degree(at_least=0.3))
    (more,) = check(*RECORDS, degree=Degree(at_least=0.4))
    assert (enough.holds, more.holds) == (True, False)
    assert more.text.endswith("; more than +12.20 required")


def test_a_margin_can_be_limited() -> None:
    (allowed,) = check(*RECORDS, degree=Degree(at_most=0.4))
    (large,) = check(*RECORDS, degree=SLIGHTLY)
    assert (allowed.holds, large.holds) == (True, False)
    assert large.text.endswith("; at most +3.05 allowed")


def test_a_significant_lead_needs_an_interval() -> None:
    (found,) = check(*RECORDS, degree=SIGNIFICANTLY)
    assert found.holds == (found.margin.low > 0)
    noisy = [*make_records("ITQ", 40.0, 42.0), *make_records("SH", 39.9, 35.0)]
    (unclear,) = check(*noisy, degree=SIGNIFICANTLY)
    assert unclear.margin.mean > 0 > unclear.margin.low
    assert not unclear.holds
    with pytest.raises(MissingRecordsError, match="second seed"):
        check(RECORDS[0], RECORDS[2], degree=SIGNIFICANTLY)


def test_small_values_have_more_digits() -> None:
    records = [*make_records("ITQ", 0.0023, 0.0025), *make_records("SH", 0.0001, 0.0001)]
    checks = beats("f1", "mnist", ["ITQ"], ["SH"], [64])
    (found,) = checks(Measured(records))
    assert found.text.startswith("F1, 64 bits: ITQ 0.0024, SH 0.0001 (+0.0023,")


def test_what_has_no_length_is_the_same_at_every_length() -> None:
    scan = make_record(Case("mnist", SCAN, 0, measure="scan"), 50.0)
    (found,) = check(*RECORDS, scan, rival=SCAN)
    assert not found.holds
    assert found.margin.mean == -9


def test_impossible_lengths_are_left_out() -> None:
    records = make_records("SH", 1.0)
    records[0]["result"] = {"error": "n_bits of SH must be at most 32, got 64."}
    assert check(*RECORDS[:2], *records) == []
    with pytest.raises(NoSuchCodesError):
        Measured(records).values("map", "mnist", Setting("SH", 64))


def test_missing_records_are_an_error() -> None:
    with pytest.raises(MissingRecordsError):
        check(*RECORDS[:2])


@pytest.mark.parametrize(("factor", "holds"), [(1.3, True), (1.4, False)])
def test_times_are_compared_by_ratio(factor: float, holds: bool) -> None:
    checks = takes_times("fit_seconds", "mnist", ["ITQ"], ["SH"], [64], factor)
    assert [c.holds for c in checks(Measured(RECORDS))] == [holds]


@pytest.mark.parametrize(
    ("theirs", "holds"), [(41.4, True), (41.6, False), (40.1, True), (39.9, False)]
)
def test_values_near_the_paper(theirs: float, holds: bool) -> None:
    checks = is_near("map", "mnist", [(Setting("ITQ", 64), theirs)], 0.5, 1.0)
    assert [c.holds for c in checks(Measured(RECORDS))] == [holds]
