"""The pages that compare all methods on MNIST and on synthetic manifolds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from reproduction.data.loader import DataLoader
from reproduction.experiments.methods import COMPARED_METHODS, METHODS
from reproduction.pages import comparison_text as text
from reproduction.pages.comparison_chart import write_charts
from reproduction.pages.comparison_summary import (
    SHOWN_LENGTH,
    MethodResult,
    describe_results,
    list_best,
    list_untimed,
    rank_methods,
)
from reproduction.records import Case, RunRecords
from reproduction.report.tables import NO_VALUE
from reproduction.runner import lacks_times, measure_times, run_missing_cases
from reproduction.shared_types import Record

MNIST = "mnist"
MANIFOLDS = ("manifold-10", "manifold-16", "manifold-32", "manifold-64")
CODE_LENGTHS = (16, 32, 64, 128)
SUPERVISED_LENGTH = 9
"""Code length of the methods that learn from labels: the most that IMHs has with ten classes."""

TITLE = "MNIST: 69,000 digits of 784 pixels, 1,000 queries"
CHART, DARK_CHART = "images/comparison/mnist.png", "images/comparison/mnist-dark.png"


class Measure(NamedTuple):
    """An entry of a result, its title, and its number of decimals."""

    name: str
    title: str
    n_digits: int


MEASURES = (
    Measure("map", "MAP, percent", 1),
    Measure("fit_seconds", "Seconds to fit", 1),
    Measure("encode_us", "Microseconds to encode one row", 1),
    Measure("f1", "F1 in radius 2", 2),
)


def list_cases() -> list[Case]:
    """Return the cases of the pages."""
    supervised = [name for name in COMPARED_METHODS if METHODS[name].uses_labels]
    settings = [
        *((name, n_bits) for name in COMPARED_METHODS for n_bits in CODE_LENGTHS),
        *((name, SUPERVISED_LENGTH) for name in supervised),
    ]
    return [Case(data, name, n_bits) for data in (MNIST, *MANIFOLDS) for name, n_bits in settings]


def run_comparison(docs: Path, *, times: bool = False) -> list[Record]:
    """Run the cases that have no record in ``compare.jsonl``; return the records of all.

    Times are left out if other programs competed for the cores. With ``times``, cases without
    them run again.
    """
    cases, records, load = list_cases(), RunRecords(docs / "compare.jsonl"), DataLoader()
    if times:
        measure_times([case for case in cases if lacks_times(case, records)], records, load)
    return run_missing_cases(cases, records, load, drop_busy_times=True)


def write_comparison(records: Iterable[Record], docs: Path) -> Path:
    """Draw the charts, write both pages, and return the path of the first."""
    known = list(records)
    write_charts(rank_methods(known, MNIST), TITLE, docs / CHART)
    return write_pages(known, docs)


def write_pages(records: Sequence[Record], docs: Path) -> Path:
    """Write both pages without drawing the charts, and return the path of the first."""
    pages = {
        "comparison.md": make_page(records),
        "comparison-manifolds.md": make_manifolds_page(records),
    }
    for name, content in pages.items():
        (docs / name).write_text(content, encoding="utf-8")
    return docs / "comparison.md"


def make_page(records: Sequence[Record]) -> str:
    """Return the page of MNIST: conclusions, chart, tables, and how they were measured."""
    own, ranking = _select_data(records, MNIST), rank_methods(records, MNIST)
    untimed = list_untimed(records)
    head = text.HEAD.format(
        conclusions=describe_results(records, MNIST, "MNIST"),
        alt=f"Methods on MNIST by their MAP at {SHOWN_LENGTH} bits",
        chart=CHART,
        dark_chart=DARK_CHART,
        n_bits=SHOWN_LENGTH,
        without_times=text.WITHOUT_TIMES if ranking.is_timed and ranking.untimed else "",
    )
    method = text.METHOD.format(
        n_labeled=sum(METHODS[name].uses_labels for name in COMPARED_METHODS),
        n_bits=SUPERVISED_LENGTH,
        untimed=text.UNTIMED.format(methods=", ".join(untimed)) if untimed else "",
    )
    tables = [f"## {m.title}\n\n{TITLE}.\n\n{make_table(own, m)}" for m in MEASURES]
    return "\n".join([head, *tables, method])


def make_manifolds_page(records: Sequence[Record]) -> str:
    """Return the page of the manifolds, on which all tables but those of MAP are folded."""
    parts = [text.MANIFOLDS_HEAD.format(n_bits=SHOWN_LENGTH, table=_make_best_table(records))]
    precision, *others = MEASURES
    for data in MANIFOLDS:
        own = _select_data(records, data)
        title = f"{_count_dimensions(data)} dimensions: 9,000 points, 1,000 queries"
        parts.append(f"## {title}\n\n**{precision.title}**\n\n{make_table(own, precision)}")
        parts += [_fold(m.title, make_table(own, m)) for m in others]
    return "\n".join(parts)


def make_table(records: Sequence[Record], measure: Measure) -> str:
    """Return a Markdown table with one row per method and one column per code length."""
    values: dict[tuple[str, int], list[float]] = {}
    for record in records:
        setting = record["case"]["method"], record["case"]["n_bits"]
        found = values.setdefault(setting, [])
        if measure.name in record["result"]:
            found.append(record["result"][measure.name])
    methods = dict.fromkeys(method for method, _ in values)
    lengths = sorted({n_bits for _, n_bits in values})
    rows = [
        [method, *(_format_mean(values.get((method, n)), measure.n_digits) for n in lengths)]
        for method in methods
    ]
    return _join_cells(["method", *(f"{n} bits" for n in lengths)], rows)


def _make_best_table(records: Sequence[Record]) -> str:
    """Return the best methods of each data set, without and with labels."""
    rows = [
        [_count_dimensions(data), *(_format_best(group) for group in rank_methods(records, data))]
        for data in MANIFOLDS
    ]
    return _join_cells(["dimensions", "best without labels", "best with labels"], rows)


def _join_cells(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _format_best(results: list[MethodResult]) -> str:
    best = ", ".join(result.title for result in list_best(results))
    return f"{best}: {results[0].map:.1f}" if results else NO_VALUE


def _format_mean(values: list[float] | None, n_digits: int) -> str:
    if not values:
        return NO_VALUE
    mean = fmean(values)
    return f"{mean:.{0 if mean >= 100 else n_digits}f}"


def _fold(title: str, content: str) -> str:
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{content}\n</details>\n'


def _count_dimensions(data: str) -> str:
    return data.partition("-")[2]


def _select_data(records: Sequence[Record], data: str) -> list[Record]:
    return [record for record in records if record["case"]["data"] == data]
