"""The page "Codes from labels", from records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from reproduction.data.loader import DataLoader
from reproduction.labels.cases import (
    ALL,
    CONTENDERS,
    DATA,
    FEW,
    MEASURE,
    SEVEN,
    UNSUPERVISED,
    find_labels,
)
from reproduction.labels.measure import EVERY, SEEN, UNSEEN
from reproduction.records import Case, RunRecords
from reproduction.runner import run_missing_cases
from reproduction.shared_types import Record
from reproduction.which_code.measure import ASYMMETRIC, HAMMING

NAMES = {"mnist": "MNIST, 69,000 images of 784 pixels", "cifar10": "CIFAR-10, 59,000 GISTs of 512"}
"""Names of the data sets in headings."""

TABLES = (
    (ALL, EVERY, "Every row is labeled"),
    (FEW, EVERY, "5,000 rows are labeled"),
    (SEVEN, UNSEEN, "Classes that were not in training"),
    (SEVEN, SEEN, "The other seven classes, with the same codes"),
)
"""Tables of a data set: labels, group of queries, and heading."""

HEAD = """# Codes from labels

What do labels add to a code of 64 bits, and what do they cost for classes that were not in
training? All values are percentages, means over seeds, of 500 queries; the number of anchors
was chosen on 500 others. An item is relevant if it has the label of the query. MAP is over the
whole ranking, P@10 among the first ten; recall@10 is the share of the ten nearest vectors among
the first ten. Columns without "Hamming" are of the asymmetric search, which compares the reals
of a query with the stored bits, as `bitfold search` does. Parameters not shown have their
defaults; `SDH` and `FSDH` choose the width of their kernel on held-out training rows. Made by
`python -m reproduction labels docs`.

[How to use labels](how-to/labels.md) draws the conclusions.
"""

LEFT_OUT = """Three of the ten classes were left out of the training data, others with every seed.
The database has all ten; the queries are of the three. The 16 coarse bits were chosen among two
numbers on the classes of the first seed.
"""


class Row(NamedTuple):
    """Means of a method over its seeds."""

    method: str
    n_seeds: int
    values: dict[tuple[str, str], float]
    cpu_seconds: float


def run_labels(docs: Path, cases: list[Case]) -> list[Record]:
    """Run the cases that have no record in the file of the page; return all of its records."""
    records = RunRecords(docs / "labels.jsonl")
    run_missing_cases(cases, records, DataLoader())
    return list(records)


def write_labels(records: Iterable[Record], docs: Path) -> Path:
    """Write the page, and return its path."""
    path = docs / "labels.md"
    path.write_text(make_page(list(records)), encoding="utf-8")
    return path


def make_page(records: list[Record]) -> str:
    """Return the page, with the tables that have records."""
    return "\n".join([HEAD, *(part for data in DATA for part in _show_data(records, data))])


def list_rows(records: Iterable[Record], data: str, labels: str, group: str) -> list[Row]:
    """Return the means of each method that has records, in the order of the tables."""
    found: dict[str, list[Record]] = {}
    for record in records:
        case = Case.from_record(record)
        # Without labels, their number makes no difference.
        is_shown = find_labels(case) == labels or (
            labels == FEW and find_labels(case) == ALL and case.method == UNSUPERVISED
        )
        if (case.measure, case.data) == (MEASURE, data) and is_shown:
            found.setdefault(case.method, []).append(record["result"])
    return [_average(method, found[method], group) for method in CONTENDERS if method in found]


def _average(method: str, results: list[Record], group: str) -> Row:
    entries = [result["groups"][group] for result in results]
    values = {
        (ranking, measure): fmean(entry[ranking][measure] for entry in entries)
        for ranking, measures in entries[0].items()
        for measure in measures
    }
    return Row(method, len(results), values, fmean(r["fit_cpu_seconds"] for r in results))


COLUMNS = {
    "MAP": (ASYMMETRIC, "map"),
    "P@10": (ASYMMETRIC, "precision_10"),
    "recall@10": (ASYMMETRIC, "recall_10"),
    "Hamming: MAP": (HAMMING, "map"),
    "Hamming: P@10": (HAMMING, "precision_10"),
}
"""Columns of quality: ranking and measure."""


def make_table(rows: list[Row]) -> str:
    """Return a Markdown table; the best value of each column is bold."""
    best = {column: max(row.values[column] for row in rows) for column in COLUMNS.values()}
    lines = [
        f"| method | {' | '.join(COLUMNS)} | fit (CPU s) | seeds |",
        f"| --- |{' ---: |' * (len(COLUMNS) + 2)}",
    ]
    for row in rows:
        cells = [_format(row.values[column], best[column]) for column in COLUMNS.values()]
        ends = f"{row.cpu_seconds:.0f} | {row.n_seeds}"
        lines.append(f"| `{row.method}` | {' | '.join(cells)} | {ends} |")
    return "\n".join(lines) + "\n"


def _format(value: float, best: float) -> str:
    return f"**{value:.1f}**" if value == best else f"{value:.1f}"


def describe_change(rows: list[Row]) -> str:
    """Say by how much each method with labels changes MAP and P@10, compared with none."""
    plain = next((row for row in rows if row.method == UNSUPERVISED), None)
    if plain is None or len(rows) == 1:
        return ""
    parts = []
    for row in rows:
        if row is not plain:
            changes = (row.values[c] - plain.values[c] for c in list(COLUMNS.values())[:2])
            parts.append("`{}` {:+.1f} and {:+.1f}".format(row.method, *changes))
    return f"MAP and P@10, compared with no labels: {'; '.join(parts)}.\n"


def _show_data(records: list[Record], data: str) -> Iterator[str]:
    tables = {
        (labels, group): list_rows(records, data, labels, group) for labels, group, _ in TABLES
    }
    if any(tables.values()):
        yield f"## {NAMES[data]}\n"
    for labels, group, heading in TABLES:
        if rows := tables[labels, group]:
            yield f"### {heading}\n"
            if group == UNSEEN:
                yield LEFT_OUT
            yield make_table(rows)
            yield describe_change(rows)
