"""Colors of the points: one number per point, and a legend that says what the numbers mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from bitfold._types import AnyArray, Float64Array, Int32Array, Int64Array, UInt16Array
from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.explorer import density
from bitfold.explorer.columns import MISSING, OTHER, CategoryColumn, ColumnReader
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.plane_map import ItemMap
from bitfold.explorer.schemas import LegendCategory, LegendOut

MISSING_COLOR = 65535
OTHER_COLOR = 65534
MAX_NUMBER = 65533
"""The color of the largest number of a channel."""

MAX_BUCKETS = 1000
"""Number of buckets that have a color of their own."""

_N_LISTED = 50
"""Number of categories in a legend."""

_N_CACHED_CHANNELS = 32

BY_PATTERN = r"^(label|bucket|coarse|density|distance|region|bit:[0-9]{1,4}|column:.{1,200})$"


@dataclass(frozen=True, eq=False)
class Channel:
    """Colors by point, and their legend."""

    legend: LegendOut
    colors: UInt16Array


class Channels:
    """The channels of one model.

    Parameters
    ----------
    model
        The model.
    items
        What is known about the items.
    item_map
        The map, for its density and regions.
    columns
        Reads metadata columns.
    regions
        Returns the names of the regions, and the region of each row.
    """

    def __init__(
        self,
        model: IndexedModel,
        items: Items,
        item_map: ItemMap,
        columns: ColumnReader,
        regions: Callable[[], tuple[list[str], Int32Array]],
    ) -> None:
        self._model = model
        self._items = items
        self._map = item_map
        self._columns = columns
        self._regions = regions
        self._cached = lru_cache(_N_CACHED_CHANNELS)(self._make)

    def find(self, by: str, code: Codes | None = None) -> Channel:
        """Return a channel by its name; ``code`` is that of the query, for distances."""
        if by == "distance":
            return self._by_distance(code)
        return self._cached(by)

    @cached_property
    def _bucket_of_point(self) -> Int32Array:
        return self._model.bucket_of[self._items.order]

    def _make(self, by: str) -> Channel:
        """Return a channel in the order of points, which is random access of a million colors."""
        made = self._make_by_row(by)
        return Channel(made.legend, made.colors[self._items.order])

    def _make_by_row(self, by: str) -> Channel:
        makers: dict[str, Callable[[], Channel]] = {
            "label": self._by_label,
            "bucket": lambda: self._by_bucket(self._model.n_bits),
            "coarse": self._by_coarse,
            "density": self._by_density,
            "region": self._by_region,
        }
        if by in makers:
            return makers[by]()
        if match := re.fullmatch(r"bit:([0-9]{1,4})", by):
            return self._by_bit(int(match[1]))
        if match := re.fullmatch(r"column:(.+)", by, re.DOTALL):
            return self._by_column(match[1])
        requirement = f"{', '.join(makers)}, distance, bit:… or column:…"
        raise ParameterError("by", "the request", requirement, repr(by[:60]))

    def _by_label(self) -> Channel:
        labels = self._items.labels
        if labels is None:
            requirement = "another channel, because there are no labels"
            raise ParameterError("by", "the request", requirement, "label")
        numbers = np.where(labels.numbers == UNLABELED, MISSING, labels.numbers)
        counts = np.bincount(labels.numbers[labels.numbers >= 0], minlength=len(labels.names))
        column = CategoryColumn(labels.names, counts.tolist(), numbers)
        name = self._items.label_column or "label"
        return _from_categories("label", column, name, f"The value of {name!r}.", len(labels.names))

    def _by_bucket(self, n_bits: int) -> Channel:
        """Color the largest buckets, by all bits or by the first ones."""
        model, is_whole = self._model, n_bits == self._model.n_bits
        groups, sizes = (
            (np.arange(model.n_distinct), model.sizes) if is_whole else _group_prefixes(model)
        )
        order = np.argsort(-sizes, kind="stable")[:MAX_BUCKETS]
        order = order[sizes[order] > 1]
        rank = np.full(len(sizes), OTHER, np.int32)
        rank[order] = np.arange(len(order))
        names = [f"{size:,} items" for size in sizes[order].tolist()]
        column = CategoryColumn(names, sizes[order].tolist(), rank[groups][model.bucket_of])
        part = "code" if is_whole else f"first {n_bits} bits (the coarse part)"
        about = f"Items of one color have the same {part}. Those in the smallest buckets are gray."
        return _from_categories("bucket" if is_whole else "coarse", column, "bucket", about)

    def _by_coarse(self) -> Channel:
        n_bits = self._model.n_coarse_bits
        if n_bits is None:
            requirement = "another channel, because the codes have no coarse part"
            raise ParameterError("by", "the request", requirement, "coarse")
        return self._by_bucket(n_bits)

    def _by_bit(self, bit: int) -> Channel:
        if bit >= self._model.n_bits:
            requirement = f"at most bit:{self._model.n_bits - 1}"
            raise ParameterError("by", "the request", requirement, f"bit:{bit}")
        byte = self._model.distinct.packed[:, bit // 8]
        values = (byte >> (7 - bit % 8)) & 1
        numbers = values.astype(np.int32)[self._model.bucket_of]
        counts = np.bincount(numbers, minlength=2).tolist()
        column = CategoryColumn(["0", "1"], counts, numbers)
        return _from_categories(f"bit:{bit}", column, f"bit {bit}", f"The value of bit {bit}.")

    def _by_column(self, name: str) -> Channel:
        kind = self._items.table.check_column(name)
        about = f"The value of {name!r}."
        if kind in (str, bool):
            column = self._columns.categories(name)
            return _from_categories(f"column:{name}", column, name, about)
        unit = "time" if kind is datetime else ""
        return _from_numbers(
            f"column:{name}", self._columns.numbers(name), name, about, unit, kind is int
        )

    def _by_density(self) -> Channel:
        points = self._map.points
        grid = density.smooth(density.count_cells(points))
        values = np.log10(np.maximum(grid.ravel()[density.cell_of(points)], 1e-3))
        about = "Items per cell of a grid of 256 × 256 on the map, smoothed; logarithmic."
        channel = _from_numbers("density", values, "density", about, "items per cell", False)
        legend = channel.legend.model_copy(update={"is_log": True})
        return Channel(legend, channel.colors)

    def _by_region(self) -> Channel:
        names, numbers = self._regions()
        counts = np.bincount(numbers[numbers >= 0], minlength=len(names)).tolist()
        column = CategoryColumn(names, counts, np.where(numbers < 0, OTHER, numbers))
        about = "Clusters: the items around each peak of the density."
        return _from_categories("region", column, "cluster", about)

    def _by_distance(self, code: Codes | None) -> Channel:
        if code is None:
            requirement = "given with by=distance"
            raise ParameterError("query", "the request", requirement, "none")
        high = self._model.n_bits
        scale = np.round(np.arange(high + 1) * (MAX_NUMBER / high)).astype(np.uint16)
        legend = LegendOut(
            by="distance",
            kind="numbers",
            title="distance",
            explanation="Hamming distance to the query: the number of bits that differ.",
            low=0,
            high=high,
            unit="bits",
            is_integer=True,
        )
        return Channel(legend, scale[self._model.measure(code)][self._bucket_of_point])


def _group_prefixes(model: IndexedModel) -> tuple[Int64Array, Int64Array]:
    """Return the group of each bucket by its coarse bits, and the items per group."""
    prefixes = model.distinct.prefix(model.n_coarse_bits or model.n_bits).packed
    rows = np.ascontiguousarray(prefixes).view(np.dtype((np.void, prefixes.shape[1]))).ravel()
    _, groups = np.unique(rows, return_inverse=True)
    return groups, np.bincount(groups, model.sizes).astype(np.int64)


def _from_categories(
    by: str, column: CategoryColumn, title: str, explanation: str, n_listed: int = _N_LISTED
) -> Channel:
    numbers = column.numbers
    colors = numbers.astype(np.uint16)
    colors[numbers == MISSING] = MISSING_COLOR
    colors[numbers == OTHER] = OTHER_COLOR
    named = zip(column.names[:n_listed], column.counts[:n_listed], strict=True)
    legend = LegendOut(
        by=by,
        kind="categories",
        title=title,
        explanation=explanation,
        categories=[LegendCategory(name=name, count=count) for name, count in named],
        n_other=int(np.count_nonzero(numbers == OTHER)),
        n_unlisted=sum(column.counts[n_listed:]),
        n_missing=int(np.count_nonzero(numbers == MISSING)),
        is_integer=True,
    )
    return Channel(legend, colors)


def _from_numbers(
    by: str, values: AnyArray, title: str, explanation: str, unit: str, is_integer: bool
) -> Channel:
    known = np.isfinite(values)
    colors = np.full(len(values), MISSING_COLOR, np.uint16)
    low = float(values[known].min()) if known.any() else 0.0
    high = float(values[known].max()) if known.any() else 0.0
    # Halved, because the difference of two finite numbers may not be finite.
    share: Float64Array = (values[known] / 2 - low / 2) / ((high / 2 - low / 2) or 1)
    colors[known] = np.round(share * MAX_NUMBER)
    fields: dict[str, Any] = {"unit": unit, "is_integer": is_integer, "low": low, "high": high}
    legend = LegendOut(
        by=by,
        kind="numbers",
        title=title,
        explanation=explanation,
        n_missing=int(np.count_nonzero(~known)),
        **fields,
    )
    return Channel(legend, colors)
