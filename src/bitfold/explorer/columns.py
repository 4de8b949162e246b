"""Descriptions of metadata columns, and their values as colors."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bitfold._types import Float64Array, Int32Array
from bitfold.collection.items import decode_value, quote_name
from bitfold.explorer.item_table import TYPE_NAMES, ItemTable
from bitfold.explorer.items import format_value, shorten, to_json
from bitfold.explorer.schemas import Category, ColumnOut

MAX_LISTED_CATEGORIES = 50
"""Number of categories in the description of a column."""

MAX_DISTINCT_LISTED = 1000
"""Columns with more distinct values have no list of categories."""

MAX_COLORS = 1000
"""Number of categories of a column that get a color of their own."""

_MIN_TEXT_LENGTH = 24
"""Mean number of characters from which a column is a text rather than a category."""

MISSING = -1
OTHER = -2

_N_CACHED_COLUMNS = 8


class CategoryColumn(NamedTuple):
    """A column as categories: names by frequency, and the number of each row."""

    names: list[str]
    counts: list[int]
    numbers: Int32Array


class ColumnReader:
    """Describes columns, and reads them as a whole; the last few are cached.

    Parameters
    ----------
    table
        The metadata.
    """

    def __init__(self, table: ItemTable) -> None:
        self._table = table
        self.describe = lru_cache(1)(self._describe)
        self.categories = lru_cache(_N_CACHED_COLUMNS)(self._read_categories)
        self.numbers = lru_cache(_N_CACHED_COLUMNS)(self._read_numbers)

    def _describe(self) -> list[ColumnOut]:
        columns = self._table.columns
        if not columns:
            return []
        selects = [_select_summary(name, kind) for name, kind in columns.items()]
        [values] = self._table.aggregate(", ".join(selects))
        parts = [values[start : start + 4] for start in range(0, len(values), 4)]
        return [
            self._describe_column(name, kind, *part)
            for (name, kind), part in zip(columns.items(), parts, strict=True)
        ]

    def _describe_column(
        self, name: str, kind: type, n_known: int, low: Any, high: Any, mean_length: float | None
    ) -> ColumnOut:
        low, high = (None if end is None else decode_value(end, kind) for end in (low, high))
        n_distinct = self._count_distinct(quote_name(name))
        is_open = n_distinct > MAX_DISTINCT_LISTED
        categories = None if is_open else self._list_categories(quote_name(name), kind)
        return ColumnOut(
            name=name,
            type=TYPE_NAMES[kind],
            n_missing=len(self._table) - n_known,
            n_distinct=n_distinct,
            low=to_json(low),
            high=to_json(high),
            categories=categories,
            is_text=kind is str and n_distinct > 1 and (mean_length or 0) >= _MIN_TEXT_LENGTH,
        )

    def _count_distinct(self, column: str) -> int:
        """Return the number of distinct values; one more than are listed if there are more."""
        limit = MAX_DISTINCT_LISTED + 1
        rows = self._table.aggregate(
            f"DISTINCT {column}", f"WHERE {column} IS NOT NULL LIMIT {limit}"
        )
        return len(rows)

    def _list_categories(self, column: str, kind: type) -> list[Category]:
        rows = self._table.aggregate(
            f"{column}, count(*)",
            f"WHERE {column} IS NOT NULL GROUP BY {column} ORDER BY count(*) DESC, {column} "
            f"LIMIT {MAX_LISTED_CATEGORIES}",
        )
        return [Category(value=to_json(decode_value(v, kind)), count=n) for v, n in rows]

    def _read_categories(self, name: str) -> CategoryColumn:
        return make_categories(self._table.column(name))

    def _read_numbers(self, name: str) -> Float64Array:
        """Return a column as numbers, times in seconds; NaN is missing."""
        kind, values = self._table.check_column(name), self._table.column(name)
        if kind is datetime:
            values = [None if value is None else value.timestamp() for value in values]
        return np.array([np.nan if value is None else value for value in values], np.float64)


def _select_summary(name: str, kind: type) -> str:
    """Return what describes a column in one scan: known values, ends, and mean length."""
    column = quote_name(name)
    ends = f"min({column}), max({column})" if kind in (int, float, datetime) else "NULL, NULL"
    length = f"avg(length({column}))" if kind is str else "0"
    return f"count({column}), {ends}, {length}"


def make_categories(values: list[Any]) -> CategoryColumn:
    """Number values by frequency; None is missing, and the rarest of many are "other"."""
    counts = Counter(value for value in values if value is not None)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_COLORS]
    number_of = {value: number for number, (value, _) in enumerate(ordered)}
    number_of[None] = MISSING
    numbers = np.fromiter((number_of.get(v, OTHER) for v in values), np.int32, len(values))
    names = [shorten(format_value(value)) for value, _ in ordered]
    return CategoryColumn(names, [count for _, count in ordered], numbers)
