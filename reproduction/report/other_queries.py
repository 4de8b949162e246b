"""How much the results change with queries that no setting was chosen on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from statistics import fmean
from typing import NamedTuple

from reproduction.case_lists import BASE_SET_METHODS
from reproduction.columns import BITFOLD, PUBLISHED, name_in_column
from reproduction.data.loader import OTHER_QUERIES
from reproduction.paper import reported
from reproduction.report.tables import find_point
from reproduction.shared_types import Record

NEARLY_THE_SAME = 0.05
"""Fraction of a value up to which a change counts as small."""


class QueryPair(NamedTuple):
    """MAP of a method with the queries of the report, and with others."""

    method: str
    column: str
    data: str
    usual: float
    other: float

    @property
    def change(self) -> float:
        """How much higher MAP is with the other queries."""
        return self.other - self.usual


def compare_queries(records: Sequence[Record]) -> list[str]:
    """Return a sentence or two on the change of MAP; nothing without records."""
    pairs = list(_pair_queries(records))
    if not pairs:
        return []
    largest = max(pairs, key=lambda pair: abs(pair.change) / pair.usual)
    is_small = abs(largest.change) <= NEARLY_THE_SAME * largest.usual
    where = f"{largest.method}, {largest.column}, {reported.DATA_NAMES[largest.data]}"
    text = (
        f"With queries that no setting was chosen on, MAP at 64 bits is "
        f"{'nearly the same' if is_small else 'not the same'}: the means of {len(pairs)} settings "
        f"change by {fmean(abs(pair.change) for pair in pairs):.2f} on average, and by at most "
        f"{100 * abs(largest.change) / largest.usual:.1f} % of their value ({where}: "
        f"{largest.usual:.2f} and {largest.other:.2f})."
    )
    return [" ".join([text, *_compare_leads(pairs)])]


def _pair_queries(records: Sequence[Record]) -> Iterator[QueryPair]:
    columns = (PUBLISHED, BITFOLD)
    for data, method, column in product(("mnist", "cifar10"), BASE_SET_METHODS, columns):
        name = name_in_column(method, column)
        usual, other = (
            find_point([r for r in records if _is_of(r, queries, name)], "map")
            for queries in (data, f"{data}{OTHER_QUERIES}")
        )
        if usual and other:
            yield QueryPair(method, column, data, usual.mean, other.mean)


def _is_of(record: Record, data: str, method: str) -> bool:
    return bool(record["case"]["data"] == data and record["case"]["method"] == method)


def _compare_leads(pairs: Sequence[QueryPair]) -> list[str]:
    """Return by how much bitfold's IMH-tSNE leads that of the authors with both queries."""
    known = {(pair.data, pair.column): pair for pair in pairs if pair.method == "IMH-tSNE"}
    leads = []
    for data in ("mnist", "cifar10"):
        ours, theirs = (known.get((data, column)) for column in (BITFOLD, PUBLISHED))
        if ours and theirs:
            usual, other = ours.usual - theirs.usual, ours.other - theirs.other
            leads.append(f"{usual:.1f} and {other:.1f} on {reported.DATA_NAMES[data]}")
    if not leads:
        return []
    return [f"The leads of bitfold's IMH-tSNE with both choices are {', '.join(leads)}."]
