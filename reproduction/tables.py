"""Tables, from records alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from reproduction.records import Record


class Measure(NamedTuple):
    """A number of a record's result: its head in a table, short and long, and its decimals."""

    name: str
    head: str
    about: str
    digits: int


MEASURES = (
    Measure("map", "MAP", "MAP, percent", 1),
    Measure("f1", "F1", "F1 in radius 2", 2),
    Measure("fit_seconds", "fit s", "Seconds to fit", 1),
    Measure("encode_us", "µs", "Microseconds to encode a row", 1),
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
    return Grid(heads, rows, refusals(known))


def refusals(records: Iterable[Record]) -> list[str]:
    """Say once what codes each method cannot have: "… must be at most 9, got 16, 32."."""
    asked: dict[str, list[str]] = {}
    for record in records:
        demand, _, got = record["result"].get("error", "").removesuffix(".").rpartition(", got ")
        if demand:
            asked.setdefault(demand, []).append(got)
    return [f"{demand}, got {', '.join(dict.fromkeys(got))}." for demand, got in asked.items()]


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


class Recommendation(NamedTuple):
    """A method and a code length to take, and the score that speaks for them."""

    method: str
    n_bits: int
    map: float


def recommend(records: Iterable[Record], slack: float = 1.0) -> Recommendation | None:
    """Recommend the shortest code whose MAP is within ``slack`` points of the best.

    Among methods of that length it is the best one; None if nothing could be measured.
    """
    known = list(records)
    settings = dict.fromkeys((r["case"]["method"], r["case"]["n_bits"]) for r in known)
    scores = {
        setting: mean([r for r in known if _setting(r) == setting], "map") for setting in settings
    }
    found = [Recommendation(*key, value) for key, value in scores.items() if value is not None]
    if not found:
        return None
    best = max(option.map for option in found)
    good = [option for option in found if option.map >= best - slack]
    return min(good, key=lambda option: (option.n_bits, -option.map))


def _setting(record: Record) -> tuple[str, int]:
    return record["case"]["method"], record["case"]["n_bits"]


def _cell(records: list[Record], method: str, n_bits: int, measure: Measure) -> str:
    own = [r for r in records if _setting(r) == (method, n_bits)]
    value = mean(own, measure.name)
    if value is None:
        return "\N{EN DASH}"
    return f"{value:.{0 if value >= 100 else measure.digits}f}"
