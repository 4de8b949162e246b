"""Tables, from records alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bitfold.experiments.records import Record


class Measure(NamedTuple):
    """A number of a record's result: its head in a table and how it is written."""

    name: str
    head: str
    digits: int


MEASURES = (
    Measure("map", "MAP %", 1),
    Measure("f1", "F1, radius 2", 2),
    Measure("fit_seconds", "fit s", 1),
    Measure("encode_us", "encode µs", 1),
)
"""What a comparison shows of each method and code length."""


class Grid(NamedTuple):
    """Methods down, measures and code lengths across."""

    heads: list[tuple[str, int]]
    rows: list[tuple[str, list[str]]]
    refusals: list[str]


def grid(records: Iterable[Record]) -> Grid:
    """Lay out a comparison; of a method that was run with many seeds the mean is shown."""
    known = list(records)
    lengths = sorted({record["case"]["n_bits"] for record in known})
    methods = list(dict.fromkeys(record["case"]["method"] for record in known))
    heads = [(measure.head, n_bits) for measure in MEASURES for n_bits in lengths]
    rows = [
        (method, [_cell(known, method, n, measure) for measure in MEASURES for n in lengths])
        for method in methods
    ]
    sentences = [r["result"]["refused"] for r in known if "refused" in r["result"]]
    return Grid(heads, rows, list(dict.fromkeys(sentences)))


def mean(records: Iterable[Record], measure: str) -> float | None:
    """Mean of a measure over the records that have it."""
    values = [r["result"][measure] for r in records if measure in r["result"]]
    return sum(values) / len(values) if values else None


def measure_table(records: list[Record], measure: Measure) -> str:
    """Write one measure of a comparison for a page: methods down, code lengths across."""
    lengths = sorted({record["case"]["n_bits"] for record in records})
    methods = list(dict.fromkeys(record["case"]["method"] for record in records))
    rows = [["method", *(f"{n} bits" for n in lengths)], ["---", *["---:"] * len(lengths)]]
    rows += [[method, *(_cell(records, method, n, measure) for n in lengths)] for method in methods]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _cell(records: list[Record], method: str, n_bits: int, measure: Measure) -> str:
    own = [r for r in records if (r["case"]["method"], r["case"]["n_bits"]) == (method, n_bits)]
    value = mean(own, measure.name)
    return "\N{EN DASH}" if value is None else f"{value:.{measure.digits}f}"
