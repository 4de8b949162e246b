"""A selection of items: inside a polygon on the map, by points, and by a filter."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field

from bitfold._types import AnyArray, BoolArray, Float64Array, Int64Array, UInt16Array
from bitfold.errors import ParameterError
from bitfold.explorer.columns import MISSING, CategoryColumn, ColumnReader
from bitfold.explorer.items import Items
from bitfold.explorer.plane_map import MAX_COORDINATE
from bitfold.explorer.schemas import WHOLE_FLOATS, Item, Value

N_SHOWN = 50
"""Number of items of a selection that are listed."""

_N_CATEGORIES = 20
_N_BINS = 24
_ROWS_PER_BATCH = 1 << 12
_POINTS_PER_BLOCK = 1 << 18


Point = Annotated[int, Field(ge=0, lt=1 << 31), WHOLE_FLOATS]


class SelectionRequest(BaseModel):
    """Which items are selected: those that meet all given conditions."""

    model: Annotated[int, Field(ge=0, le=1), WHOLE_FLOATS] = 0
    polygon: list[tuple[float, float]] | None = Field(
        default=None,
        min_length=3,
        max_length=1000,
        description="Corners in coordinates of the map.",
    )
    points: list[Point] | None = Field(default=None, max_length=200_000)
    where: str | None = Field(default=None, max_length=2000)
    find: str | None = Field(default=None, max_length=200)


class ShareOut(BaseModel):
    """A value of a column in the selection."""

    value: Value
    count: int
    share: float
    share_all: float = Field(description="Share of the value among all items.")


class HistogramOut(BaseModel):
    """Counts of numbers between edges."""

    edges: list[float]
    counts: list[int]


class CompositionOut(BaseModel):
    """The values of a column in the selection."""

    name: str
    type: str
    categories: list[ShareOut] | None
    n_categories: int = Field(default=0, description="Number of distinct values, also unlisted.")
    low: float | None
    high: float | None
    mean: float | None
    histogram: HistogramOut | None


class SelectionOut(BaseModel):
    """What was selected."""

    n_items: int
    n_buckets: int
    items: list[Item]
    columns: list[CompositionOut]
    label: CompositionOut | None


def inside_polygon(points: UInt16Array, corners: Float64Array) -> BoolArray:
    """Return which points are inside a polygon, by the even-odd rule.

    Parameters
    ----------
    points
        Coordinates in steps of 1 / 65535.
    corners
        Corners of the polygon, from 0 to 1.

    Returns
    -------
    BoolArray
        One value per point.
    """
    inside = np.zeros(len(points), bool)
    low, high = corners.min(axis=0) * MAX_COORDINATE, corners.max(axis=0) * MAX_COORDINATE
    near = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
    for first in range(0, len(near), _POINTS_PER_BLOCK):
        rows = near[first : first + _POINTS_PER_BLOCK]
        inside[rows] = _cross(points[rows] / MAX_COORDINATE, corners)
    return inside


def _cross(points: Float64Array, corners: Float64Array) -> BoolArray:
    """Return whether a ray to the right of each point crosses an odd number of edges."""
    x, y = points.T
    odd = np.zeros(len(points), bool)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if ay == by:
            continue
        spans = (ay > y) != (by > y)
        odd ^= spans & (x < ax + (y - ay) * ((bx - ax) / (by - ay)))
    return odd


def select_rows(
    request: SelectionRequest, items: Items, points: UInt16Array, filtered: Int64Array | None
) -> Int64Array:
    """Return the rows of a selection, ascending.

    Parameters
    ----------
    request
        What is selected.
    items
        The items.
    points
        The map of the model.
    filtered
        Rows that meet the filter of the request; None if all do.

    Returns
    -------
    Int64Array
        Rows.
    """
    chosen = np.ones(len(items), bool)
    if filtered is not None:
        chosen[:] = False
        chosen[filtered] = True
    if request.points is not None:
        given = np.array(request.points, np.int64)
        if len(given) and (given.min() < 0 or given.max() >= len(items)):
            requirement = f"from 0 to {len(items) - 1}"
            raise ParameterError("points", "the selection", requirement, "others")
        mask = np.zeros(len(items), bool)
        mask[items.order[given]] = True
        chosen &= mask
    if request.polygon is not None:
        corners = np.array(request.polygon, np.float64)
        if not np.isfinite(corners).all() or np.abs(corners).max() > 100:
            raise ParameterError("polygon", "the selection", "on the map", "other numbers")
        chosen &= inside_polygon(points, corners)
    return np.flatnonzero(chosen)


def compose(items: Items, columns: ColumnReader, rows: Int64Array) -> list[CompositionOut]:
    """Describe the values of all columns in a selection."""
    return [_compose_column(items, columns, name, rows) for name in items.table.columns]


def _compose_column(
    items: Items, columns: ColumnReader, name: str, rows: Int64Array
) -> CompositionOut:
    kind = items.table.check_column(name)
    if kind in (str, bool):
        return compose_categories(name, kind.__name__, columns.categories(name), rows)
    numbers = columns.numbers(name)
    known = numbers[rows]
    known = known[np.isfinite(known)]
    if not len(known):
        return CompositionOut(
            name=name, type=kind.__name__, categories=None, low=None, high=None, mean=None,
            histogram=None,
        )  # fmt: skip
    low, high = float(known.min()), float(known.max())
    counts, edges = np.histogram(known, _N_BINS, (low, high))
    return CompositionOut(
        name=name,
        type="time" if kind is datetime else kind.__name__,
        categories=None,
        low=low,
        high=high,
        mean=float(known.mean()),
        histogram=HistogramOut(edges=edges.tolist(), counts=counts.tolist()),
    )


def compose_categories(
    name: str, kind: str, column: CategoryColumn, rows: Int64Array
) -> CompositionOut:
    """Describe the categories of a selection, the most frequent first."""
    numbers = column.numbers[rows]
    counts = np.bincount(numbers[numbers >= 0], minlength=len(column.names))
    n_known = max(1, int(np.count_nonzero(numbers != MISSING)))
    n_all = max(1, int(np.count_nonzero(column.numbers != MISSING)))
    order = [i for i in np.argsort(-counts, kind="stable")[:_N_CATEGORIES].tolist() if counts[i]]
    shares = [
        ShareOut(
            value=column.names[i],
            count=int(counts[i]),
            share=float(counts[i] / n_known),
            share_all=column.counts[i] / n_all,
        )
        for i in order
    ]
    return CompositionOut(
        name=name,
        type=kind,
        categories=shares,
        n_categories=int(np.count_nonzero(counts)),
        low=None,
        high=None,
        mean=None,
        histogram=None,
    )


def export_rows(items: Items, rows: AnyArray, form: str) -> Iterator[str]:
    """Yield the items as a file: "ids", "csv" or "jsonl", some rows at a time."""
    names = list(items.table.columns)
    if form == "csv":
        yield _to_csv([["id", *names]])
    for first in range(0, len(rows), _ROWS_PER_BATCH):
        part = rows[first : first + _ROWS_PER_BATCH]
        ids = items.table.ids.names(part)
        if form == "ids":
            yield "".join(f"{name}\n" for name in ids)
            continue
        values = items.table.values(part)
        records = zip(ids, *(values[name] for name in names), strict=True)
        if form == "csv":
            yield _to_csv([[_to_text(value) for value in record] for record in records])
        else:
            yield "".join(_to_line(["id", *names], record) for record in records)


def _to_text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _to_csv(rows: list[list[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _to_line(names: list[str], record: tuple[Any, ...]) -> str:
    values = {name: _to_text(value) for name, value in zip(names, record, strict=True)}
    return json.dumps(values, ensure_ascii=False) + "\n"
