"""How records are presented."""

from __future__ import annotations

from typing import Any

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.experiments.methods import SCAN
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.report.presentation import present_by_length
from tests.reproduction.fake_records import make_record


def test_classified_vectors_are_not_called_a_scan() -> None:
    cases = [Case("mnist", "ITQ", 64, measure="classification")]
    cases.append(Case("mnist", SCAN, 0, measure="classification"))
    records = [make_record(case) for case in cases]
    (table,) = present_by_length(("accuracy", "accuracy"))(records).tables
    assert [row[0].ours for row in table.rows] == ["ITQ", "the raw vectors"]


def test_scan_is_a_line_across_the_figure() -> None:
    cases = [Case("cifar10", "ITQ", n) for n in (16, 128)] + [Case("cifar10", SCAN, 0)]
    shown = present_by_length(("map", "MAP"))([make_record(case) for case in cases])
    (figure,) = shown.figures.values()
    lines: dict[Any, Any] = {line.get_label(): line for line in figure.axes[0].containers}
    assert set(lines) == {"ITQ", SCAN}
    assert list(lines[SCAN].lines[0].get_xdata()) == [16, 128]
    (table,) = shown.tables
    values = [f"{make_record(case)['result']['map']:.2f} (0.00)" for case in cases]
    assert [[cell.ours for cell in row] for row in table.rows] == [
        ["ITQ", *values[:2]],
        [SCAN, values[2], values[2]],
    ]


def test_stated_values_are_compared() -> None:
    cases = ARTIFACTS["fig-classify"].cases(Protocol(2))
    shown = ARTIFACTS["fig-classify"].present([make_record(case, 95.0) for case in cases])
    assert [value.difference for value in shown.compared] == pytest.approx([0.9, 0.9])
    assert shown.tables[0].rows[0][0].ours == "IMH-tSNE, 128 bits, MNIST"
    assert shown.tables[0].rows[1][0].ours == "the raw vectors, MNIST"
