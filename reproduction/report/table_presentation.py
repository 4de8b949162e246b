"""How the records of the paper's tables are presented, next to its values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from reproduction.case_lists import BASE_SET_METHODS
from reproduction.columns import PUBLISHED, get_plain_name, has_column, select_column
from reproduction.data.loader import OTHER_QUERIES
from reproduction.experiments.methods import PAPER_METHODS
from reproduction.paper import reported
from reproduction.paper.deviations import ComparedValue
from reproduction.paper.reported import Reported
from reproduction.report.line_figures import explain_error_bars
from reproduction.report.other_queries import compare_queries
from reproduction.report.points import Point
from reproduction.report.presentation import (
    COLUMNS,
    Presentation,
    get_option,
    make_heading,
    split_data_sets,
)
from reproduction.report.table_figures import PAPER, Series, draw_rows, draw_size_curves
from reproduction.report.tables import (
    BASE_NAMES,
    COMPARED_HEADS,
    Cell,
    Table,
    compare_with_paper,
    find_point,
    make_compared_row,
    make_time_cells,
    select_column_only,
)
from reproduction.shared_types import Record

# Table I


def present_base_methods(number: str, records: list[Record]) -> Presentation:
    """Show MAP by code length, base strategy and method, next to Table I."""
    lengths = sorted({r["case"]["n_bits"] for r in records})
    rows: list[list[Cell]] = []
    compared: list[ComparedValue] = []
    drawn: dict[str, list[Series]] = {}
    for method in ("IMH-LE_B", "IMH-LE", "IMH-tSNE", "AGH"):
        points: dict[str, list[Point]] = {name: [] for name in (PAPER, *COLUMNS)}
        for i, (n_bits, base) in enumerate(product(lengths, BASE_NAMES)):
            own = _select_base(records, method, n_bits, base)
            if own:
                theirs = reported.BASE_METHOD.get((n_bits, base, method))
                found = compare_with_paper(_as_published(own), "map", theirs, base=base)
                compared += found
                labels = [method, str(n_bits), BASE_NAMES[base]]
                rows.append(make_compared_row(labels, own, found[0] if found else None, "map"))
                _add_points(points, own, theirs, i)
        drawn[method] = [Series(*pair) for pair in points.items()]
    names = [f"{n_bits} bits, {name}" for n_bits, name in product(lengths, BASE_NAMES.values())]
    note = "Error bars: sample standard deviation over the seeds; the paper's is over 10 runs."
    heading = make_heading(number, records, "cifar10", "how the base set is chosen")
    figure = draw_rows(heading, drawn, names, ["MAP %"] * len(drawn), note)
    table = Table(["method", "bits", "base set", *COMPARED_HEADS], rows)
    return Presentation({"cifar10": figure}, [table], compared)


def _as_published(records: list[Record]) -> list[Record]:
    """Return the records with the authors' settings, and none of methods that have no such."""
    return select_column(records, PUBLISHED) if has_column(records, PUBLISHED) else []


def _select_base(records: list[Record], method: str, n_bits: int, base: str) -> list[Record]:
    return [
        r
        for r in records
        if (get_plain_name(r["case"]["method"]), r["case"]["n_bits"]) == (method, n_bits)
        and get_option(r, "base") == base
    ]


def _add_points(
    points: dict[str, list[Point]], records: list[Record], theirs: Reported | None, row: float
) -> None:
    """Add the paper's value and those of both columns at a position."""
    if theirs:
        points[PAPER].append(Point(row, theirs.mean, theirs.deviation or 0.0))
    for column in COLUMNS:
        if has_column(records, column):
            point = find_point(select_column_only(records, column), "map")
            points[column] += [point._replace(x=row)] if point else []


# Table II and Fig. 4


def present_base_size_table(number: str, records: list[Record]) -> Presentation:
    """Show MAP and times by the size of the base set, next to Table II."""
    times = [f"{what}: {name}" for what in ("training s", "test ms")
             for name in ("paper", *COLUMNS)]  # fmt: skip
    heads = ["m", *(f"MAP %: {head}" for head in COMPARED_HEADS[:4]), "seeds", *times]
    tables, compared = [], []
    for data, own in split_data_sets(records).items():
        rows, values = _compare_base_sizes(own, data)
        compared += values
        tables.append(Table(heads, rows, reported.DATA_NAMES[data]))
    heading = f"{number} · IMH-tSNE, 64 bits, by the size of the base set"
    note = f"{explain_error_bars(records)} The paper states none."
    figure = draw_size_curves(heading, make_size_panels(records), "MAP %", note)
    return Presentation({"sizes": figure}, tables, compared, reported.TIMES_NOTE)


def _compare_base_sizes(
    records: list[Record], data: str
) -> tuple[list[list[Cell]], list[ComparedValue]]:
    """Return one table row per size of the base set, and the values compared."""
    rows, values = [], []
    for i, m in enumerate(reported.BASE_SIZES):
        own = _select_size(records, m)
        if not own:
            continue
        theirs = Reported(reported.BASE_SIZE[data][i])
        found = compare_with_paper(_as_published(own), "map", theirs, n_base_points=m)
        values += found
        rows.append([
            *make_compared_row([f"{m:,}"], own, found[0] if found else None, "map"),
            *make_time_cells(own, "fit_seconds", reported.BASE_SIZE_SECONDS[data][i]),
            *make_time_cells(own, "test_ms", reported.BASE_SIZE_MS[data][i]),
        ])  # fmt: skip
    return rows, values


def make_size_panels(records: Sequence[Record]) -> dict[str, list[Series]]:
    """Return the paper's values and ours by the size of the base set, one entry per data set."""
    panels = {}
    for data, own in split_data_sets(records).items():
        points: dict[str, list[Point]] = {name: [] for name in (PAPER, *COLUMNS)}
        for m, theirs in zip(reported.BASE_SIZES, reported.BASE_SIZE[data], strict=True):
            _add_points(points, _select_size(own, m), Reported(theirs), m)
        panels[reported.DATA_NAMES[data]] = [Series(*pair) for pair in points.items()]
    return panels


def _select_size(records: Sequence[Record], n_base_points: int) -> list[Record]:
    return [r for r in records if get_option(r, "n_base_points") == n_base_points]


# Other queries


def present_other_queries(number: str, records: list[Record]) -> Presentation:
    """Show MAP at 64 bits with the queries of the report and with others."""
    names = [name for name in reported.DATA_NAMES if name in split_data_sets(records)]
    rows: list[list[Cell]] = []
    drawn: dict[str, dict[str, list[Point]]] = {}
    for (i, method), data in product(enumerate(BASE_SET_METHODS), names):
        own = [r for r in split_data_sets(records)[data]
               if get_plain_name(r["case"]["method"]) == method]  # fmt: skip
        if own:
            compared = make_compared_row([method, reported.DATA_NAMES[data]], own, None, "map")
            rows.append([*compared[:2], compared[3], *compared[5:]])
            panel = reported.DATA_NAMES[data.removesuffix(OTHER_QUERIES)]
            points = drawn.setdefault(panel, {name: [] for name in (PAPER, *COLUMNS)})
            _add_points(points, own, None, 2 * i + data.endswith(OTHER_QUERIES))
    series = {name: [Series(*pair) for pair in own.items()] for name, own in drawn.items()}
    labels = [f"{method}, {kind} queries" for method in BASE_SET_METHODS
              for kind in ("the report's", "other")]  # fmt: skip
    heading = f"{number} · MAP at 64 bits with the queries of this report, and with others"
    note = explain_error_bars(records)
    figure = draw_rows(heading, series, labels, ["MAP %"] * len(series), note)
    heads = ["method", "data set", *(COMPARED_HEADS[i] for i in (1, 3, 4))]
    table = Table(heads, rows)
    return Presentation({"queries": figure}, [table], note=" ".join(compare_queries(records)))


# Table III


def present_times(number: str, records: list[Record]) -> Presentation:
    """Show seconds to train and to encode one point, next to Table III."""
    lengths = sorted({r["case"]["n_bits"] for r in records})
    kinds = (("training", "fit_seconds", 0, 1.0, 1.0), ("test", "test_ms", 2, 1e-3, 1e6))
    heads = [f"{kind}, s: {name}" for kind, *_ in kinds for name in ("paper", *COLUMNS)]
    rows: list[list[Cell]] = []
    drawn: dict[str, dict[str, list[Point]]] = {
        kind: {name: [] for name in (PAPER, *COLUMNS)} for kind, *_ in kinds
    }
    for (i, method), n_bits in product(enumerate(PAPER_METHODS), lengths):
        own = [r for r in records if get_plain_name(r["case"]["method"]) == method
               and r["case"]["n_bits"] == n_bits]  # fmt: skip
        row = [Cell(method), Cell(str(n_bits))]
        for kind, measure, place, scale, unit in kinds:
            theirs = reported.SECONDS[method][place + (n_bits == 128)]
            row += make_time_cells(own, measure, theirs, scale)
            if n_bits == lengths[0] and own:
                _add_times(drawn[kind], own, measure, unit * scale, unit * theirs, i)
        rows.append(row)
    series = {kind: [Series(*pair) for pair in panel.items()] for kind, panel in drawn.items()}
    heading = make_heading(number, records, "mnist", f"{lengths[0]} bits")
    timed = [r for r in records if "fit_seconds" in r["result"]]
    bars = f"{explain_error_bars(timed)} The paper states none. " if timed else ""
    note = f"{bars}Methods without a base set are the same in both columns."
    figure = draw_rows(heading, series, PAPER_METHODS, ["seconds", "µs per point"], note,
                       is_log=True)  # fmt: skip
    table = Table(["method", "bits", *heads], rows)
    return Presentation({"mnist": figure}, [table], note=reported.TIMES_NOTE)


def _add_times(
    panel: dict[str, list[Point]],
    records: list[Record],
    measure: str,
    scale: float,
    theirs: float,
    row: int,
) -> None:
    panel[PAPER].append(Point(row, theirs, 0.0))
    method = get_plain_name(records[0]["case"]["method"])
    for column in COLUMNS if method in BASE_SET_METHODS else COLUMNS[:1]:
        point = find_point(select_column_only(records, column), measure)
        if point:
            panel[column].append(Point(row, scale * point.mean, scale * point.deviation))
