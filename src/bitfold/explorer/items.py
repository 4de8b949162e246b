"""What is known about the items: ids, metadata, labels, vectors and images, by row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import AnyArray, Float64Array, Int32Array, Int64Array
from bitfold.explorer.images import ImageSource
from bitfold.explorer.item_table import ItemTable
from bitfold.explorer.item_vectors import ItemVectors
from bitfold.explorer.schemas import Item
from bitfold.io.formats.request import translate_errors

UNLABELED = -1
"""Class number of an item without a label."""

_MAX_TEXT_LENGTH = 400
"""Maximum number of characters of a text on the page."""

_MAX_EXACT_INTEGER = 1 << 53
"""JavaScript's numbers are exact only below this."""


@dataclass(frozen=True, eq=False)
class ItemLabels:
    """The class number of each row, and the names of the classes."""

    names: list[str]
    numbers: Int32Array

    @classmethod
    def from_values(cls, values: AnyArray) -> ItemLabels:
        """Number the classes in ascending order; -1 and an empty name mean unlabeled."""
        if values.ndim != 1:
            _validation.raise_invalid(
                "labels", "the items", "1-dimensional", f"shape {values.shape}"
            )
        if values.dtype.kind == "f" and (values == np.floor(values)).all():
            values = values.astype(np.int64)
        classes, numbers = np.unique(values, return_inverse=True)
        names = [str(name) for name in classes.tolist()]
        known = np.array([name not in ("", "-1") for name in names], bool)
        renumbered = np.where(known, np.cumsum(known) - 1, UNLABELED)
        named = [name for name, kept in zip(names, known, strict=True) if kept]
        return cls(named, renumbered[numbers.ravel()].astype(np.int32))

    @classmethod
    def from_column(cls, values: list[Any]) -> ItemLabels:
        """Number the values of a metadata column; None means unlabeled."""
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int} and kinds:
            return cls.from_values(np.array([-1 if v is None else v for v in values]))
        return cls.from_values(np.array(["" if v is None else format_value(v) for v in values]))


@dataclass(frozen=True, eq=False)
class Items:
    """Everything that has one row per item.

    Parameters
    ----------
    table
        Ids and metadata.
    vectors
        Vectors, or None.
    images
        Images by row, or None.
    text_column, label_column, image_column
        Columns of the table with these roles, or None.
    """

    table: ItemTable
    vectors: ItemVectors | None = None
    images: ImageSource | None = None
    text_column: str | None = None
    label_column: str | None = None
    image_column: str | None = None

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def labels(self) -> ItemLabels | None:
        """Classes of the items."""
        if self.label_column is None:
            return None
        return ItemLabels.from_column(self.table.column(self.label_column))

    @cached_property
    def order(self) -> Int64Array:
        """The row of each point: a random order, so that the first points are a sample."""
        return np.random.default_rng(len(self)).permutation(len(self))

    @cached_property
    def points(self) -> Int64Array:
        """The point of each row."""
        out = np.empty(len(self), np.int64)
        out[self.order] = np.arange(len(self))
        return out

    def vector(self, row: int) -> Float64Array | None:
        """Return the vector of an item as float64, or None."""
        if self.vectors is None:
            return None
        vector: Float64Array = self.vectors.take(np.array([row]))[0].astype(np.float64)
        return vector

    def labels_of(self, rows: Int64Array) -> Int32Array:
        """Return the class numbers of items, -1 if unlabeled."""
        if self.labels is None:
            return np.full(len(rows), UNLABELED, np.int32)
        return self.labels.numbers[rows]

    def label_of(self, row: int | None) -> int:
        """Return the class number of an item, -1 if unlabeled."""
        return UNLABELED if row is None else int(self.labels_of(np.array([row]))[0])

    def image_path(self, row: int) -> str | None:
        """Return the path of the image of an item in the API, or None."""
        has_image = self.images is not None and row in self.images
        return f"/api/items/{self.points[row]}/image" if has_image else None

    def describe(self, rows: ArrayLike, *, with_values: bool = False) -> list[Item]:
        """Return what is known about some items."""
        chosen: Int64Array = np.asarray(rows, np.int64)
        if not len(chosen):
            return []
        columns = None if with_values else [self.text_column] if self.text_column else []
        values = self.table.values(chosen, columns)
        texts = values.get(self.text_column or "", [None] * len(chosen))
        parts = zip(self.table.ids.names(chosen), chosen.tolist(), texts, strict=True)
        labels = self.labels_of(chosen).tolist()
        return [
            Item(
                id=name,
                point=int(self.points[row]),
                label=labels[i],
                text=None if text is None else shorten(format_value(text)),
                image=self.image_path(row),
                values={k: to_json(v[i]) for k, v in values.items()} if with_values else None,
            )
            for i, (name, row, text) in enumerate(parts)
        ]


def to_json(value: Any) -> Any:
    """Return a metadata value as JSON can hold it; large integers become text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int) and abs(value) >= _MAX_EXACT_INTEGER:
        return str(value)
    return shorten(value) if isinstance(value, str) else value


def format_value(value: Any) -> str:
    """Return a metadata value as text."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def shorten(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= _MAX_TEXT_LENGTH else text[: _MAX_TEXT_LENGTH - 1] + "…"


def read_lines(path: Path) -> list[str]:
    """Read a text file in UTF-8, one line per item."""
    with translate_errors(path, "a text file in UTF-8", UnicodeDecodeError):
        # Not splitlines(), which also splits at characters that a line may contain.
        lines = path.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
