"""The result of a comparison: a table of methods and code lengths, and the codes to choose from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bitfold.cli._quality_table import MISSING
from bitfold.evaluation import CodeOption


class Measure(NamedTuple):
    """An entry of a result, its heading, and its number of decimals."""

    name: str
    heading: str
    digits: int


COMMON = (
    Measure("search_map", "MAP", 3),
    Measure("f1", "F1", 2),
    Measure("fit_seconds", "fit s", 1),
    Measure("encode_us", "µs", 1),
)
"""Measures that the table always shows."""

FIRST_TEN = {
    True: Measure("precision_10", "P@10", 3),
    False: Measure("recall_10", "recall@10", 3),
}
"""The measure of first hits, with and without labels."""

SEARCH_NOTE = "Searches are asymmetric, as those of bitfold search with a model"
"""How hits are found, for the line above a table."""


def make_table(records: Iterable[dict[str, Any]], *, is_labeled: bool) -> Table:
    """Return a table with one row per method and length; results of several seeds are averaged."""
    measures = (*([FIRST_TEN[True]] if is_labeled else []), FIRST_TEN[False], *COMMON)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    for heading in ("bits", *(measure.heading for measure in measures)):
        table.add_column(heading, justify="right", no_wrap=True)
    groups = _group_by_setting(records)
    methods = list(dict.fromkeys(method for method, _ in groups))
    for method, n_bits in sorted(groups, key=lambda pair: (methods.index(pair[0]), pair[1])):
        cells = [_format_cell(groups[method, n_bits], measure) for measure in measures]
        table.add_row(method, str(n_bits), *cells)
    return table


def list_options(records: Iterable[dict[str, Any]], measure: str) -> list[CodeOption]:
    """Return the codes that were measured, with the mean of a measure over the seeds as score."""
    return [
        CodeOption(method, n_bits, score, _mean(results, "search_map") or 0.0)
        for (method, n_bits), results in _group_by_setting(records).items()
        if (score := _mean(results, measure)) is not None
    ]


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
        # The length of a run without one is in its result.
        n_bits = record["case"]["n_bits"] or record["result"].get("n_bits", 0)
        groups.setdefault((record["case"]["method"], n_bits), []).append(record["result"])
    return groups


def _mean(results: list[dict[str, Any]], measure: str) -> float | None:
    """Return the mean of a measure over the results that have it."""
    values = [result[measure] for result in results if result.get(measure) is not None]
    return sum(values) / len(values) if values else None


def _format_cell(results: list[dict[str, Any]], measure: Measure) -> str:
    """Return a mean as text; large values have no decimals."""
    value = _mean(results, measure.name)
    if value is None:
        return MISSING
    return f"{value:.{0 if value >= 100 else measure.digits}f}"
