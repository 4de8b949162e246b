"""Recall of codes that have collapsed."""

from __future__ import annotations

from reproduction.paper.checks import Measured
from reproduction.paper.collapse import remark_on_collapse
from reproduction.records import Case, RunRecords
from reproduction.shared_types import Record

REMARK = remark_on_collapse("gist_cifar", ["IMH-LE", "AGH"])


def make_record(method: str, recall: float, precision: float, n_bits: int = 16) -> Record:
    f1 = 2 * recall * precision / max(recall + precision, 1e-9) / 100
    result = {"recall": recall, "precision": precision, "f1": f1}
    return RunRecords().add(Case("gist_cifar", method, n_bits), result)


def test_a_recall_of_returning_everything_is_named() -> None:
    records = [make_record("IMH-LE", 99.98, 2.0), make_record("AGH", 80.0, 60.0)]
    text = REMARK(Measured(records))
    assert "16 bits of IMH-LE, about 100 % of all rows are within radius 2" in text
    assert "recall 100.0 %, precision 2.0 %, F1 0.039" in text
    assert "AGH" not in text


def test_a_high_recall_alone_is_not_a_collapse() -> None:
    """With a precision of 20 %, a tenth of the rows are returned."""
    assert REMARK(Measured([make_record("IMH-LE", 100.0, 20.0)])) == ""
    assert REMARK(Measured([make_record("IMH-LE", 0.0, 0.0)])) == ""
    assert REMARK(Measured([])) == ""
