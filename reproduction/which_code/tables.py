"""Markdown tables of the page, and of the README."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reproduction.report.tables import NO_VALUE
from reproduction.which_code.measure import ASYMMETRIC, COARSE, HAMMING
from reproduction.which_code.summary import CodeRow, find_best


class Column(NamedTuple):
    """A measure, its head, and its number of decimals."""

    measure: str
    head: str
    n_digits: int = 1


QUALITY = (
    Column("map", "MAP"),
    Column("precision_10", "P@10"),
    Column("precision_100", "P@100"),
    Column("recall_10", "recall@10"),
    Column("rescored_40", "rescored 40"),
    Column("rescored_100", "rescored 100"),
)
"""Quality of a ranking, in percent."""

SEARCH = Column("search_ms", "search, ms", 2)

BUCKETS = (
    Column("n_distinct", "buckets", 0),
    Column("lookup_precision", "precision"),
    Column("lookup_recall", "recall"),
    Column("f1", "F1", 2),
    Column("map", "MAP"),
)

HEADLINE_COLUMNS = (*QUALITY[:4], QUALITY[5])

HEADLINE = (
    ("exact vectors", "distance"),
    ("DualHasher(128)", ASYMMETRIC),
    ("DualHasher(128)", HAMMING),
    ("DualHasher(64)", ASYMMETRIC),
    ("ITQ(128)", ASYMMETRIC),
    ("ITQ(128)", HAMMING),
    ("sign bits", ASYMMETRIC),
    ("sign bits", HAMMING),
    ("faiss PQ16x8", "distance"),
    ("faiss PCA64,RaBitQ", "distance"),
    ("faiss RaBitQ", "distance"),
)
"""Codes and rankings of the table in the README."""


def make_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column holds names and whose others hold numbers."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *lines)) + "\n"


def make_full_table(rows: Iterable[CodeRow]) -> str:
    """Return everything that was measured on a data set, one line per code and ranking."""
    columns = (*QUALITY, SEARCH)
    heads = ["code", "bytes", *(column.head for column in columns[:-1]), "fit, s", SEARCH.head]
    lines = []
    for row in rows:
        *quality, search = _format_values(row, columns)
        fit_seconds = f"{row.fit_seconds:.1f}"
        lines.append([_describe(row), f"{row.n_bytes:,}", *quality, fit_seconds, search])
    return make_table(heads, lines)


def make_headline_table(rows: Sequence[CodeRow]) -> str:
    """Return the table of the README."""
    lines = [
        [_describe(row), f"{row.n_bytes:,}", *_format_values(row, HEADLINE_COLUMNS)]
        for wanted in HEADLINE
        for row in rows
        if (row.contender.title, row.ranking) == wanted
    ]
    return make_table(["code", "bytes", *(column.head for column in HEADLINE_COLUMNS)], lines)


def make_bucket_table(rows: Iterable[CodeRow]) -> str:
    """Return lookups within two bits, one line per code."""
    lines = [[row.title, *_format_values(row, BUCKETS)] for row in rows]
    return make_table(["code", *(column.head for column in BUCKETS)], lines)


def make_best_table(
    rows_by_data: dict[str, list[CodeRow]], measure: str, budgets: Iterable[int]
) -> str:
    """Return the best code of each data set for several numbers of bytes."""
    lines = [
        [f"{n_bytes} bytes", *(_format_best(rows, measure, n_bytes) for rows in by_data)]
        for by_data in [rows_by_data.values()]
        for n_bytes in budgets
    ]
    return make_table(["in at most", *rows_by_data], lines)


def _format_best(rows: list[CodeRow], measure: str, max_bytes: int) -> str:
    row = find_best(rows, measure, max_bytes)
    return NO_VALUE if row is None else f"{row.title}: **{row.values[measure]:.1f}**"


def _describe(row: CodeRow) -> str:
    return f"{row.title} (from labels)" if row.contender.uses_labels else row.title


def _format_values(row: CodeRow, columns: Iterable[Column]) -> list[str]:
    return [
        f"{row.values[column.measure]:,.{column.n_digits}f}"
        if column.measure in row.values
        else NO_VALUE
        for column in columns
    ]


def list_bucket_rows(rows: Iterable[CodeRow]) -> list[CodeRow]:
    """Return the codes to compare as buckets: coarse bits, and whole codes of 8 bytes."""
    return [
        row
        for row in rows
        if row.ranking == COARSE
        or (row.ranking == HAMMING and row.n_bytes == 8 and not row.contender.uses_labels)
    ]
