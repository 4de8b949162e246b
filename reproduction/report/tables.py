"""Tables of the report: both columns next to the paper's values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from reproduction.columns import BITFOLD, PUBLISHED, find_column, get_plain_name, select_column
from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.deviations import ComparedValue
from reproduction.paper.reported import Reported
from reproduction.report.line_figures import Measure
from reproduction.report.points import Point, gather_points, list_methods, select_method
from reproduction.shared_types import Record

NO_VALUE = "\N{EN DASH}"
BASE_NAMES = {"random": "random", "kmedoids": "K-medians", "kmeans": "K-means"}


class Cell(NamedTuple):
    """The text of a cell, and whether it is marked."""

    text: str
    is_marked: bool = False


class Table(NamedTuple):
    """Column heads and rows of cells; ``folded`` if the page hides it at first."""

    heads: list[str]
    rows: list[list[Cell]]
    title: str = ""
    folded: bool = False


def find_point(records: Sequence[Record], measure: str) -> Point | None:
    """Return the mean of a measure over all records; None if there are none."""
    points = gather_points(records, measure, lambda _: 0.0)
    return points[0] if points else None


def make_length_table(records: list[Record], data: str, measure: Measure) -> Table:
    """Return the values behind a panel: one row per method and column of the report."""
    lengths = sorted({r["case"]["n_bits"] for r in records if r["case"]["n_bits"]})
    n_digits = 3 if measure.name == "f1" else 2
    rows = []
    for method in list_methods(records):
        own = select_method(records, method)
        groups = [[r for r in own if r["case"]["n_bits"] in (n, 0)] for n in lengths]
        if not any(find_point(group, measure.name) for group in groups):
            continue
        values = [Cell(format_mean(group, measure.name, n_digits)) for group in groups]
        rows.append([Cell(_name_row(own[0])), *values, Cell(_count_seeds(own))])
    name = reported.DATA_NAMES.get(data, data)
    title = f"{name}: {measure.label}, mean (sample standard deviation) by bits"
    return Table(["method", *map(str, lengths), "seeds"], rows, title, folded=True)


def _name_row(record: Record) -> str:
    method = record["case"]["method"]
    column = find_column(method)
    return f"{get_plain_name(method)}, {column}" if column else method


def _count_seeds(records: Sequence[Record]) -> str:
    """Return how many seeds the settings have, such as 5 or 3–5."""
    counts: dict[tuple[int, str], int] = {}
    for record in records:
        case = record["case"]
        key = case["n_bits"], str(case["options"])
        counts[key] = counts.get(key, 0) + 1
    few, many = min(counts.values()), max(counts.values())
    return f"{few}" if few == many else f"{few}–{many}"


def make_compared_row(
    labels: Sequence[str], records: Sequence[Record], value: ComparedValue | None, measure: str
) -> list[Cell]:
    """Return a row: labels, the paper's value, both columns, the difference, and the seeds."""
    ours, theirs = (find_point(select_column_only(records, c), measure)
                    for c in (BITFOLD, PUBLISHED))  # fmt: skip
    n_digits = 3 if measure == "f1" else 2
    return [
        *map(Cell, labels),
        Cell(_format_reported(value.reported) if value else NO_VALUE),
        Cell(_format_point(theirs, n_digits)),
        Cell(_format_difference(value, n_digits), bool(value and value.differs)),
        Cell(_format_point(ours, n_digits)),
        Cell(" / ".join(str(point.n_seeds if point else 0) for point in (theirs, ours))),
    ]


COMPARED_HEADS = ["paper", "as published", "difference", "bitfold", "seeds"]
"""Heads of the cells that :func:`make_compared_row` adds to the labels."""


def select_column_only(records: Sequence[Record], column: str) -> list[Record]:
    """Return the records of a column, or those of methods that are the same in both."""
    own = [r for r in records if find_column(r["case"]["method"]) == column]
    return own or select_column(records, column)


def make_stated_table(values: Iterable[ComparedValue], records: Sequence[Record]) -> Table:
    """Return the values that the paper's text states, and ours."""
    rows = [
        make_compared_row([describe_value(v)], _select_value(records, v), v, v.measure)
        for v in values
    ]
    return Table(["in the paper's text", *COMPARED_HEADS], rows)


def _select_value(records: Sequence[Record], value: ComparedValue) -> list[Record]:
    return [
        r
        for r in records
        if (r["case"]["data"], get_plain_name(r["case"]["method"]), r["case"]["n_bits"])
        == (value.data, value.method, value.n_bits)
    ]


def compare_with_stated(artifact: str, records: list[Record]) -> list[ComparedValue]:
    """Return our values, as published, next to those that the paper's text states."""
    found = []
    for measure, data, method, n_bits, value in reported.STATED.get(artifact, []):
        own = [
            r
            for r in select_column(records, PUBLISHED)
            if (r["case"]["data"], r["case"]["method"], r["case"]["n_bits"])
            == (data, method, n_bits)
        ]
        found += compare_with_paper(own, measure, value)
    return found


def compare_with_paper(
    records: list[Record], measure: str, value: Reported | None, **options: Any
) -> list[ComparedValue]:
    """Return our mean next to the paper's value; an empty list if either is missing."""
    point = find_point(records, measure)
    if point is None or value is None:
        return []
    case = records[0]["case"]
    subject = (case["data"], case["method"], case["n_bits"], options)
    return [ComparedValue(measure, *subject, point.mean, point.deviation, point.n_seeds, value)]


def describe_value(value: ComparedValue) -> str:
    """Return method, code length, settings and data set of a value."""
    method = "raw pixels" if value.method == SCAN else value.method
    bits = [f"{value.n_bits} bits"] if value.n_bits else []
    settings = [_describe_option(name, option) for name, option in value.options.items()]
    machine = {"accuracy": ["one-versus-rest"], "accuracy_ovo": ["one-versus-one"]}
    data = reported.DATA_NAMES.get(value.data, value.data).split(",")[0]
    return ", ".join([method, *bits, *settings, *machine.get(value.measure, []), data])


def _describe_option(name: str, value: Any) -> str:
    if isinstance(value, int):
        return f"{reported.SYMBOLS.get(name, name)} = {value:,}"
    return BASE_NAMES.get(value, f"{value}")


def _format_reported(value: Reported) -> str:
    return f"{value.mean:g}" + ("" if value.deviation is None else f" ({value.deviation:g})")


def _format_difference(value: ComparedValue | None, n_digits: int) -> str:
    if value is None:
        return NO_VALUE
    return f"{value.difference:+.{n_digits}f}".replace("-", "\N{MINUS SIGN}")


def _format_point(point: Point | None, n_digits: int) -> str:
    if point is None:
        return NO_VALUE
    text = f"{point.mean:.{n_digits}f}"
    return text if point.n_seeds < 2 else f"{text} ({point.deviation:.{n_digits}f})"


def format_mean(records: Sequence[Record], measure: str, n_digits: int = 2) -> str:
    """Return mean and standard deviation of a measure; no deviation of a single seed."""
    return _format_point(find_point(records, measure), n_digits)


def make_time_cells(
    records: Sequence[Record], measure: str, theirs: float, scale: float = 1.0
) -> list[Cell]:
    """Return the paper's time, and ours in both columns."""
    points = [find_point(select_column_only(records, c), measure) for c in (PUBLISHED, BITFOLD)]
    ours = [NO_VALUE if point is None else format_time(scale * point.mean) for point in points]
    return [Cell(format_time(theirs)), *map(Cell, ours)]


def format_time(value: float) -> str:
    """Return two digits, or all before the decimal point."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def list_missing_lengths(records: Iterable[Record]) -> list[str]:
    """Return one sentence per method that cannot produce some of the code lengths."""
    errors: dict[tuple[str, str], dict[int, str]] = {}
    for record in records:
        case, error = record["case"], record["result"].get("error")
        if error:
            errors.setdefault((case["method"], case["data"]), {})[case["n_bits"]] = error
    return [
        f"{method} has no codes of {', '.join(map(str, sorted(by_length)))} bits on "
        f"{reported.DATA_NAMES.get(data, data)}: {next(iter(by_length.values()))}"
        for (method, data), by_length in errors.items()
    ]
