"""The result of a comparison: a table of methods and code lengths, and a recommendation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table

MEASURES = (("map", "MAP", 1), ("f1", "F1", 2), ("fit_seconds", "fit s", 1), ("encode_us", "µs", 1))
"""Entries of a result that the table shows, with their headings and numbers of decimals."""

MISSING = "\N{EN DASH}"


class Recommendation(NamedTuple):
    """A method and code length, and their MAP in percent."""

    method: str
    n_bits: int
    map: float


def recommend(records: Iterable[dict[str, Any]], slack: float = 1.0) -> Recommendation | None:
    """Return the shortest code whose MAP is within ``slack`` points of the best.

    Among methods of that length it is the best one; None if nothing was measured.
    """
    options = [
        Recommendation(*setting, value)
        for setting, group in _group_by_setting(records).items()
        if (value := _mean(group, "map")) is not None
    ]
    if not options:
        return None
    best = max(option.map for option in options)
    good = [option for option in options if option.map >= best - slack]
    return min(good, key=lambda option: (option.n_bits, -option.map))


def make_table(records: Iterable[dict[str, Any]]) -> Table:
    """Return a table with one row per method; results of several seeds are averaged."""
    groups = _group_by_setting(records)
    lengths = sorted({n_bits for _, n_bits in groups})
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("method\nbits", no_wrap=True)
    for _, heading, _ in MEASURES:
        for n_bits in lengths:
            table.add_column(f"{heading}\n{n_bits}", justify="right", no_wrap=True)
    for method in dict.fromkeys(method for method, _ in groups):
        cells = [
            _format_cell(groups.get((method, n_bits), []), measure, digits)
            for measure, _, digits in MEASURES
            for n_bits in lengths
        ]
        table.add_row(method, *cells)
    return table


def list_errors(records: Iterable[dict[str, Any]]) -> list[str]:
    """Return one message per method that does not support all code lengths."""
    messages: dict[str, str] = {}
    for record in sorted(records, key=lambda record: record["case"]["n_bits"]):
        if "error" in record["result"]:
            messages.setdefault(record["case"]["method"], record["result"]["error"])
    return list(messages.values())


def _group_by_setting(
    records: Iterable[dict[str, Any]],
) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the results of each method and code length."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records:
        setting = record["case"]["method"], record["case"]["n_bits"]
        groups.setdefault(setting, []).append(record["result"])
    return groups


def _mean(results: list[dict[str, Any]], measure: str) -> float | None:
    """Return the mean of a measure over the results that have it."""
    values = [result[measure] for result in results if measure in result]
    return sum(values) / len(values) if values else None


def _format_cell(results: list[dict[str, Any]], measure: str, digits: int) -> str:
    """Return a mean as text; large values have no decimals."""
    value = _mean(results, measure)
    return MISSING if value is None else f"{value:.{0 if value >= 100 else digits}f}"
