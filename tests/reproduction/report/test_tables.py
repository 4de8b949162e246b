"""Tables of the report."""

from __future__ import annotations

from reproduction.records import Case, RunRecords
from reproduction.report.tables import list_missing_lengths
from tests.reproduction.fake_records import make_record


def test_missing_lengths_are_listed_once_per_method() -> None:
    records = [make_record(Case("mnist", "ITQ", 16))]
    for n_bits in (256, 128):
        error = {"error": f"n_bits of ITQ must be at most 64, got {n_bits}."}
        records += [RunRecords().add(Case("mnist", "ITQ", n_bits, s), error) for s in (0, 1)]
    (sentence,) = list_missing_lengths(records)
    assert sentence.startswith("ITQ has no codes of 128, 256 bits on MNIST: ")
