"""How the records of each artifact are presented: figures, and tables next to the paper's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reproduction.columns import (
    BITFOLD,
    PUBLISHED,
    find_column,
    get_plain_name,
    has_column,
    select_column,
)
from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.deviations import ComparedValue
from reproduction.report import line_figures as lines
from reproduction.report import picture_figures as pictures
from reproduction.report.line_figures import Measure, Panel
from reproduction.report.points import get_n_bits, option_getter
from reproduction.report.style import RAW_VECTORS, RAW_VECTORS_OVO
from reproduction.report.tables import (
    Table,
    compare_with_stated,
    make_length_table,
    make_stated_table,
)
from reproduction.shared_types import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAP = Measure("map", "MAP %")
F1 = Measure("f1", "F1 within radius 2", "log", 1e-4)
RECALL = Measure("recall", "recall % within radius 2", "log", 1e-3)
ACCURACY = Measure("accuracy", "accuracy % (log scale of the error)", "error")

COLUMNS = (PUBLISHED, BITFOLD)


class Presentation(NamedTuple):
    """Figures by data set, tables, the values compared with the paper, and a note."""

    figures: dict[str, Figure]
    tables: list[Table]
    compared: list[ComparedValue] = []  # noqa: RUF012  (never changed)
    note: str = ""


Present = Callable[[str, list[Record]], Presentation]
"""Takes the number of the artifact and its records."""


def make_heading(number: str, records: Sequence[Record], data: str, subject: str = "") -> str:
    """Return the heading of a figure: its number, the data set, and whether it is quick."""
    quick = ", quick version" if any(r["case"]["n_rows"] for r in records) else ""
    name = reported.DATA_NAMES.get(data, data)
    return f"{number} · {name}{f', {subject}' if subject else ''}{quick}"


def split_data_sets(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each data set."""
    names = dict.fromkeys(record["case"]["data"] for record in records)
    return {name: [r for r in records if r["case"]["data"] == name] for name in names}


def split_columns(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each column that was run; of the first one if there is none."""
    known = [column for column in COLUMNS if has_column(records, column)] or [PUBLISHED]
    return {column: select_column(records, column) for column in known}


def present_by_length(*measures: Measure, artifact: str = "") -> Present:
    """Return a function that shows measures against the code length, one figure per data set.

    Parameters
    ----------
    measures
        What is shown, one row of panels each.
    artifact
        Artifact whose values in the paper's text are compared with ours.
    """

    def present(number: str, records: list[Record]) -> Presentation:
        figures, tables = {}, []
        named = _name_rotations(records)
        for data, own in split_data_sets(named).items():
            columns = split_columns([r for record in own for r in _mark_flat(record)])
            figures[data] = lines.draw_grid(make_heading(number, own, data), [
                [Panel(column, "code length (bits)", in_column, measure, get_n_bits)
                 for column, in_column in columns.items()]
                for measure in measures
            ])  # fmt: skip
            tables += [make_length_table(own, data, measure) for measure in measures]
        compared = compare_with_stated(artifact, records)
        stated = [make_stated_table(compared, records)] if compared else []
        return Presentation(figures, stated + tables, compared)

    return present


def _name_rotations(records: list[Record]) -> list[Record]:
    """Name methods of bitfold after their rotation, where some have none (Fig. 13, Fig. 14)."""
    plain = {r["case"]["method"] for r in records if get_option(r, "rotation") == "none"}

    def rename(record: Record) -> Record:
        method = record["case"]["method"]
        if method not in plain or get_option(record, "rotation") == "none":
            return record
        name = get_plain_name(method)
        return {**record, "case": {**record["case"], "method": method.replace(name, f"{name}-ITQ")}}

    return [rename(record) for record in records]


def _mark_flat(record: Record) -> list[Record]:
    """Mark what has no code length; classified pixels become two lines, one per kind of SVM."""
    case = record["case"]
    if case["method"] != SCAN:
        return [record]
    flat = {**case, lines.FLAT: True}
    if case["measure"] != "classification":
        return [{**record, "case": flat}]
    names = {"accuracy": RAW_VECTORS, "accuracy_ovo": RAW_VECTORS_OVO}
    return [
        {"case": {**flat, "method": name}, "result": {"accuracy": record["result"][measure]}}
        for measure, name in names.items()
        if measure in record["result"]
    ]


def get_option(record: Record, name: str) -> Any:
    """Return a setting of a record; None if it has none."""
    return dict(record["case"]["options"]).get(name)


# Fig. 4


def present_base_size_figure(number: str, records: list[Record]) -> Presentation:
    """Show MAP against the number of base points, and of nearest ones used in induction."""
    columns = split_columns(records)
    by_size = [
        Panel(f"{column}, k = 5", "base points m",
              [r for r in own if get_option(r, "n_neighbors") == 5], MAP,
              option_getter("n_base_points"))
        for column, own in columns.items()
    ]  # fmt: skip
    by_neighbors = [
        Panel(f"{column}, m = 400", "nearest base points k",
              [r for r in own if get_option(r, "n_base_points") == 400], MAP,
              option_getter("n_neighbors"))
        for column, own in columns.items()
    ]  # fmt: skip
    heading = make_heading(number, records, "cifar10", "64 bits")
    return Presentation({"cifar10": lines.draw_grid(heading, [by_size, by_neighbors])}, [])


# Pictures


def present_retrieved(number: str, records: list[Record]) -> Presentation:
    """Show what each method retrieved."""
    # The rows of bitfold come last.
    ordered = sorted(records, key=lambda r: find_column(r["case"]["method"]) == BITFOLD)
    results = [
        (_name_in_picture(r["case"]["method"]), r["result"])
        for r in ordered
        if "tiles" in r["result"]
    ]
    heading = make_heading(number, records, "cifar10", "the first ten hits of 32-bit codes")
    note = "The queries are the first ones of every third class; they were not selected."
    return Presentation({"cifar10": pictures.draw_retrieved(heading, results)}, [], note=note)


def _name_in_picture(method: str) -> str:
    """Return the name of a method; bitfold's are marked, the authors' are the normal case."""
    name = get_plain_name(method)
    return f"{name}, {BITFOLD}" if find_column(method) == BITFOLD else name


def present_digits(number: str, records: list[Record]) -> Presentation:
    """Show what each distance retrieved."""
    rows = {column: own[0]["result"] for column, own in split_columns(records).items() if own}
    heading = make_heading(number, records, "mnist", "the first ten among 300 digits")
    note = "Percentages: hits of the same digit among the first ten, every digit a query."
    figures = {"mnist": pictures.draw_digits(heading, rows, note)} if rows else {}
    return Presentation(figures, [])


def present_plane(number: str, records: list[Record]) -> Presentation:
    """Show the base set and all rows in the plane."""
    rows = {column: own[0]["result"] for column, own in split_columns(records).items() if own}
    heading = make_heading(number, records, "mnist", "t-SNE in two dimensions and induction")
    return Presentation({"mnist": pictures.draw_plane(heading, rows)}, [])


# Precision and recall


def present_precision_and_recall(number: str, records: list[Record]) -> Presentation:
    """Show precision and recall against the number of retrieved items."""
    data = records[0]["case"]["data"]
    heading = make_heading(number, records, data, f"{records[0]['case']['n_bits']} bits")
    return Presentation({data: lines.draw_curves(heading, split_columns(records))}, [])


def present_supplement(number: str, records: list[Record]) -> Presentation:
    """Show precision–recall curves at all code lengths, one figure per data set."""
    figures = {}
    for data, own in split_data_sets(records).items():
        groups = {
            column: {
                n_bits: [r for r in in_column if r["case"]["n_bits"] == n_bits]
                for n_bits in sorted({r["case"]["n_bits"] for r in in_column})
            }
            for column, in_column in split_columns(own).items()
        }
        heading = make_heading(number, own, data, "precision–recall curves")
        figures[data] = lines.draw_supplement(heading, groups)
    return Presentation(figures, [])
