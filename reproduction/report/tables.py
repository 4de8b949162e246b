"""Tables of the report: our values next to the paper's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.deviations import ComparedValue
from reproduction.paper.reported import Reported
from reproduction.report.figures import gather_points, list_methods
from reproduction.shared_types import Record

NO_VALUE = "\N{EN DASH}"
RAW_VECTORS = "the raw vectors"
BASE_NAMES = {"random": "random", "kmedoids": "K-medians", "kmeans": "K-means"}


class Cell(NamedTuple):
    """Our value, the paper's, the difference, and whether it exceeds the deviation."""

    ours: str
    paper: str = ""
    difference: str = ""
    differs: bool = False


class Table(NamedTuple):
    """Column heads and rows of cells; ``folded`` if the page hides it at first."""

    heads: list[str]
    rows: list[list[Cell]]
    title: str = ""
    folded: bool = False


def make_length_table(records: list[Record], data: str, measure: tuple[str, str]) -> Table:
    """Return the values behind a panel: one row per method, one column per code length."""
    name, head = measure
    lengths = sorted({r["case"]["n_bits"] for r in records if r["case"]["n_bits"]})
    rows = []
    for method in list_methods(records):
        own = [r for r in records if r["case"]["method"] == method]
        groups = [[r for r in own if r["case"]["n_bits"] in (n, 0)] for n in lengths]
        n_digits = 3 if name == "f1" else 2
        rows.append([Cell(method), *(Cell(format_mean(group, name, n_digits)) for group in groups)])
    title = f"{reported.DATA_NAMES.get(data, data)}: {head}, mean (standard deviation) by bits"
    return Table(["method", *map(str, lengths)], rows, title, folded=True)


def make_stated_table(values: Iterable[ComparedValue]) -> Table:
    """Return the values that the paper's text states, and ours."""
    rows = [
        [Cell(describe_value(v)), compare_cell(v, 3 if v.measure == "f1" else 2)] for v in values
    ]
    return Table(["in the paper's text", "here"], rows)


def compare_with_stated(artifact: str, records: list[Record]) -> list[ComparedValue]:
    """Return our values next to those that the paper's text states about an artifact."""
    found = []
    for measure, data, method, n_bits, value in reported.STATED.get(artifact, []):
        own = [
            r
            for r in records
            if (r["case"]["data"], r["case"]["method"], r["case"]["n_bits"])
            == (data, method, n_bits)
        ]
        found += compare_with_paper(own, measure, value)
    return found


def compare_with_paper(
    records: list[Record], measure: str, value: Reported | None, **options: Any
) -> list[ComparedValue]:
    """Return our mean next to the paper's value; an empty list if either is missing."""
    points = gather_points(records, measure, lambda _: 0.0)
    if not points or value is None:
        return []
    case, point = records[0]["case"], points[0]
    subject = (case["data"], case["method"], case["n_bits"], options)
    return [ComparedValue(measure, *subject, point.mean, point.deviation, value)]


def describe_value(value: ComparedValue) -> str:
    """Return method, code length, settings and data set of a value."""
    method = RAW_VECTORS if value.method == SCAN else value.method
    bits = [f"{value.n_bits} bits"] if value.n_bits else []
    settings = [_describe_option(name, option) for name, option in value.options.items()]
    data = reported.DATA_NAMES.get(value.data, value.data).split(",")[0]
    return ", ".join([method, *bits, *settings, data])


def _describe_option(name: str, value: Any) -> str:
    if isinstance(value, int):
        return f"{reported.SYMBOLS.get(name, name)} = {value:,}"
    return BASE_NAMES.get(value, f"{value}")


def compare_cell(value: ComparedValue, n_digits: int = 2) -> Cell:
    """Return our mean and deviation, the paper's, and the difference."""
    stated = value.reported.deviation
    theirs = f"{value.reported.mean:g}" + ("" if stated is None else f" ({stated:g})")
    difference = f"{value.difference:+.{n_digits}f}".replace("-", "\N{MINUS SIGN}")
    ours = f"{value.mean:.{n_digits}f} ({value.deviation:.{n_digits}f})"
    return Cell(ours, theirs, difference, value.differs)


def compare_times(records: list[Record], measure: str, theirs: float, scale: float = 1.0) -> Cell:
    """Return our time, the paper's, and their ratio."""
    points = gather_points(records, measure, lambda _: 0.0)
    if not points:
        return Cell(NO_VALUE, _format_time(theirs))
    ours = scale * points[0].mean
    return Cell(_format_time(ours), _format_time(theirs), f"× {ours / theirs:.2g}")


def format_mean(records: list[Record], measure: str, n_digits: int = 2) -> str:
    """Return mean and standard deviation of a measure."""
    points = gather_points(records, measure, lambda _: 0.0)
    if not points:
        return NO_VALUE
    return f"{points[0].mean:.{n_digits}f} ({points[0].deviation:.{n_digits}f})"


def _format_time(value: float) -> str:
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
