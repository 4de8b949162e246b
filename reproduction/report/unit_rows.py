"""What scaling the rows to unit length changes for methods without a base set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from reproduction.experiments.methods import ON_UNIT_ROWS, OTHER_METHODS
from reproduction.paper import reported
from reproduction.report.points import Point, select_method
from reproduction.report.presentation import Presentation, split_data_sets
from reproduction.report.tables import Cell, Table, find_point
from reproduction.shared_types import Record


class ScaledPair(NamedTuple):
    """MAP of a method on the rows, and on rows of unit length."""

    method: str
    data: str
    usual: Point
    scaled: Point

    @property
    def change(self) -> float:
        """How much higher MAP is on rows of unit length."""
        return self.scaled.mean - self.usual.mean


def present_unit_rows(number: str, records: list[Record]) -> Presentation:
    """Show MAP at 64 bits on the rows, and on rows of unit length."""
    pairs = list(_pair_methods(records))
    heads = ["method", "data set", "MAP %, rows as they are", "MAP %, rows of unit length"]
    rows = [
        [Cell(pair.method), Cell(reported.DATA_NAMES[pair.data]), *map(_format, pair[2:])]
        for pair in pairs
    ]
    return Presentation({}, [Table(heads, rows)], note=describe_change(pairs))


def describe_change(pairs: Sequence[ScaledPair]) -> str:
    """Return what the scaling changes, in a sentence or two; nothing without pairs."""
    if not pairs:
        return ""
    best = max(pairs, key=lambda pair: pair.change)
    worst = min(pairs, key=lambda pair: pair.change)
    return (
        "The authors scale rows to unit length. The methods with a base set run so in the column "
        "as published; these methods run on the rows as they are. At 64 bits the scaling changes "
        f"their MAP by {worst.change:+.2f} ({_name(worst)}) to {best.change:+.2f} ({_name(best)})."
    )


def _pair_methods(records: Sequence[Record]) -> Iterator[ScaledPair]:
    for (data, own), method in product(split_data_sets(records).items(), OTHER_METHODS):
        usual, scaled = (
            find_point(select_method(own, method + ending), "map") for ending in ("", ON_UNIT_ROWS)
        )
        if usual and scaled:
            yield ScaledPair(method, data, usual, scaled)


def _format(point: Point) -> Cell:
    return Cell(f"{point.mean:.2f} ({point.deviation:.2f})")


def _name(pair: ScaledPair) -> str:
    return f"{pair.method}, {reported.DATA_NAMES[pair.data]}"
