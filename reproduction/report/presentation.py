"""How the records of each artifact are presented: figures, and tables next to the paper's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.deviations import ComparedValue
from reproduction.paper.reported import Reported
from reproduction.report import figures as f
from reproduction.report.tables import (
    BASE_NAMES,
    RAW_VECTORS,
    Cell,
    Table,
    compare_cell,
    compare_times,
    compare_with_paper,
    compare_with_stated,
    format_mean,
    make_length_table,
    make_stated_table,
)
from reproduction.shared_types import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAP = ("map", "MAP %")
F1 = ("f1", "F1 in radius 2")
RECALL = ("recall", "recall % in radius 2")
ACCURACY = ("accuracy", "accuracy %")


class Presentation(NamedTuple):
    """Figures by data set, tables, the values compared with the paper, and a note."""

    figures: dict[str, Figure]
    tables: list[Table]
    compared: list[ComparedValue] = []  # noqa: RUF012  (never changed)
    note: str = ""


Present = Callable[[list[Record]], Presentation]


def present_by_length(*measures: tuple[str, str], artifact: str = "") -> Present:
    """Return a function that shows measures against the code length, one figure per data set.

    Parameters
    ----------
    measures
        Names in the records, and titles.
    artifact
        Artifact whose values in the paper's text are compared with ours.
    """

    def present(records: list[Record]) -> Presentation:
        figures, tables = {}, []
        for data in dict.fromkeys(record["case"]["data"] for record in records):
            own = [_rename_scan(record) for record in records if record["case"]["data"] == data]
            spread = _spread_over_lengths(own)
            figures[data] = f.draw_panels(
                [f.Panel(title, "bits", spread, name, f.get_n_bits) for name, title in measures]
            )
            tables += [make_length_table(own, data, measure) for measure in measures]
        compared = compare_with_stated(artifact, records)
        stated = [make_stated_table(compared)] if compared else []
        return Presentation(figures, stated + tables, compared)

    return present


def _rename_scan(record: Record) -> Record:
    """Rename the scan in classification, where the raw vectors are classified."""
    case = record["case"]
    if (case["method"], case["measure"]) != (SCAN, "classification"):
        return record
    return {**record, "case": {**case, "method": RAW_VECTORS}}


def _spread_over_lengths(records: list[Record]) -> list[Record]:
    """Repeat what has no code length, the exact scan, at the shortest and the longest one."""
    lengths = [r["case"]["n_bits"] for r in records if r["case"]["n_bits"]]
    ends = {min(lengths), max(lengths)} if lengths else set()
    flat = [
        {**r, "case": {**r["case"], "n_bits": end}}
        for r in records
        if not r["case"]["n_bits"]
        for end in ends
    ]
    return [r for r in records if r["case"]["n_bits"]] + flat


def present_base_methods(records: list[Record]) -> Presentation:
    """Show MAP by code length, base strategy and method, next to Table I."""
    methods = ["IMH-LE_B", "IMH-LE", "IMH-tSNE", "AGH"]
    rows, compared = [], []
    for n_bits in sorted({r["case"]["n_bits"] for r in records}):
        for base, name in BASE_NAMES.items():
            own = [r for r in records if r["case"]["n_bits"] == n_bits]
            own = [r for r in own if _get_option(r, "base") == base]
            if not own:
                continue
            cells = []
            for method in methods:
                of_method = [r for r in own if r["case"]["method"] == method]
                theirs = reported.BASE_METHOD.get((n_bits, base, method))
                found = compare_with_paper(of_method, "map", theirs, base=base)
                compared += found
                cells.append(
                    compare_cell(found[0]) if found else Cell(format_mean(of_method, "map"))
                )
            rows.append([Cell(str(n_bits)), Cell(name), *cells])
    pairs = _pair_by_method(compared, methods)
    figures = {"cifar10": f.draw_pairs(pairs, "MAP %")} if compared else {}
    return Presentation(figures, [Table(["bits", "base set", *methods], rows)], compared)


def _get_option(record: Record, name: str) -> Any:
    return dict(record["case"]["options"])[name]


def _pair_by_method(
    compared: list[ComparedValue], methods: list[str]
) -> dict[str, list[f.LabeledPair]]:
    """Return our values and the paper's by method, for drawing."""
    pairs: dict[str, list[f.LabeledPair]] = {method: [] for method in methods}
    for value in compared:
        label = f"{value.n_bits}\n{BASE_NAMES[value.options['base']]}"
        theirs = (value.reported.mean, value.reported.deviation or 0.0)
        pairs[value.method].append(f.LabeledPair(label, (value.mean, value.deviation), theirs))
    return {method: own for method, own in pairs.items() if own}


def present_base_size_table(records: list[Record]) -> Presentation:
    """Show MAP and times by the size of the base set, next to Table II."""
    tables, compared, figures = [], [], {}
    for data in dict.fromkeys(r["case"]["data"] for r in records):
        own = [r for r in records if r["case"]["data"] == data]
        rows, values = _compare_base_sizes(own, data)
        heads = ["m", "MAP %", "training s", "test ms"]
        tables.append(Table(heads, rows, reported.DATA_NAMES[data]))
        compared += values
        if values:
            sizes = [value.options["n_base_points"] for value in values]
            ours = [f.Point(m, v.mean, v.deviation) for m, v in zip(sizes, values, strict=True)]
            theirs = [(m, v.reported.mean) for m, v in zip(sizes, values, strict=True)]
            figures[data] = f.draw_two_curves(ours, theirs, "base points m", "MAP %")
    return Presentation(figures, tables, compared, reported.TIMES_NOTE)


def _compare_base_sizes(
    records: list[Record], data: str
) -> tuple[list[list[Cell]], list[ComparedValue]]:
    """Return one table row per size of the base set, and the values compared."""
    rows, values = [], []
    for i, m in enumerate(reported.BASE_SIZES):
        own = [r for r in records if _get_option(r, "n_base_points") == m]
        theirs = Reported(reported.BASE_SIZE[data][i])
        found = compare_with_paper(own, "map", theirs, n_base_points=m)
        if not found:
            continue
        values += found
        rows.append(
            [
                Cell(f"{m:,}"),
                compare_cell(found[0]),
                compare_times(own, "fit_seconds", reported.BASE_SIZE_SECONDS[data][i]),
                compare_times(own, "test_ms", reported.BASE_SIZE_MS[data][i]),
            ]
        )
    return rows, values


def present_base_size_figure(records: list[Record]) -> Presentation:
    """Show MAP against the number of base points, and of nearest ones used in induction."""
    by_size = [r for r in records if _get_option(r, "n_neighbors") == 5]
    by_neighbors = [r for r in records if _get_option(r, "n_base_points") == 400]
    panels = [
        f.Panel("MAP %, k = 5", "base points m", by_size, "map", f.option_getter("n_base_points")),
        f.Panel("MAP %, m = 400", "nearest base points k", by_neighbors, "map",
                f.option_getter("n_neighbors")),
    ]  # fmt: skip
    return Presentation({"cifar10": f.draw_panels(panels)}, [])


_RED_NOTE = "The query is the first of each line; hits of another class have a red frame."


def present_retrieved(records: list[Record]) -> Presentation:
    """Show what each method retrieved."""
    results = [(r["case"]["method"], r["result"]) for r in records if "tiles" in r["result"]]
    return Presentation({"cifar10": f.draw_retrieved(results)}, [], note=_RED_NOTE)


def present_digits(records: list[Record]) -> Presentation:
    """Show what each distance retrieved."""
    result = records[0]["result"]
    shares = "; ".join(f"{name}: {found['share']:.1f} %" for name, found in result.items())
    note = f"{_RED_NOTE} Correct among the first ten hits, with every digit as the query: {shares}."
    return Presentation({"mnist": f.draw_retrieved(list(result.items()))}, [], note=note)


def present_plane(records: list[Record]) -> Presentation:
    """Show the base set and all rows in the plane."""
    return Presentation({"mnist": f.draw_plane(records[0]["result"])}, [])


def present_curves(records: list[Record]) -> Presentation:
    """Show precision and recall against the number of retrieved items."""
    return Presentation({records[0]["case"]["data"]: f.draw_curves(records)}, [])


def present_times(records: list[Record]) -> Presentation:
    """Show seconds to train and to encode one point, next to Table III."""
    heads = ["method", "train s, 64 bits", "train s, 128 bits", "test s, 64", "test s, 128"]
    columns = [("fit_seconds", 64), ("fit_seconds", 128), ("test_ms", 64), ("test_ms", 128)]
    rows, drawn = [], {}
    for method in f.list_methods(records):
        own = [r for r in records if r["case"]["method"] == method]
        cells = []
        for theirs, (measure, n_bits) in zip(reported.SECONDS[method], columns, strict=True):
            selected = [r for r in own if r["case"]["n_bits"] == n_bits]
            scale = 1e-3 if measure == "test_ms" else 1
            cells.append(compare_times(selected, measure, theirs, scale))
            points = f.gather_points(selected, measure, f.get_n_bits)
            if (measure, n_bits) == ("fit_seconds", 64) and points:
                drawn[method] = (points[0].mean, theirs)
        rows.append([Cell(method), *cells])
    figures = {"mnist": f.draw_times(drawn, "seconds to train 64 bits")} if drawn else {}
    return Presentation(figures, [Table(heads, rows)], note=reported.TIMES_NOTE)
