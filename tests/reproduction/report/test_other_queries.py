"""How much results change with other queries."""

from __future__ import annotations

from reproduction.columns import BITFOLD, PUBLISHED, name_in_column
from reproduction.data.loader import OTHER_QUERIES
from reproduction.records import Case
from reproduction.report.other_queries import compare_queries
from reproduction.shared_types import Record
from tests.reproduction.fake_records import make_record


def make_records(column: str, usual: float, other: float, method: str = "IMH-tSNE") -> list[Record]:
    name = name_in_column(method, column)
    return [
        make_record(Case("mnist", name, 64, seed), usual + seed) for seed in (0, 1)
    ] + [make_record(Case(f"mnist{OTHER_QUERIES}", name, 64, 0), other)]  # fmt: skip


def test_the_largest_change_and_the_leads_are_stated() -> None:
    records = [*make_records(PUBLISHED, 69.5, 71.0), *make_records(BITFOLD, 79.5, 80.4)]
    (text,) = compare_queries(records)
    assert "MAP at 64 bits is nearly the same: the means of 2 settings change by 0.70" in text
    assert "at most 1.4 % of their value (IMH-tSNE, as published, MNIST: 70.00 and 71.00)" in text
    assert text.endswith("The leads of bitfold's IMH-tSNE with both choices are 10.0 and 9.4 on "
                         "MNIST.")  # fmt: skip


def test_a_large_change_is_not_called_the_same() -> None:
    (text,) = compare_queries(make_records(PUBLISHED, 69.5, 60.0, "AGH"))
    assert "MAP at 64 bits is not the same" in text
    assert "lead" not in text


def test_nothing_is_stated_without_both() -> None:
    assert compare_queries([]) == []
    assert compare_queries(make_records(PUBLISHED, 1.0, 1.0)[:2]) == []
