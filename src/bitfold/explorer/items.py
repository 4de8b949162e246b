"""Vectors, labels, texts and images of the items, one row per item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Ids, Int32Array
from bitfold.explorer.images import ImageSource
from bitfold.explorer.schemas import Item
from bitfold.io.formats.request import translate_errors

UNLABELED = -1
"""Class number of an item without a label."""

_MAX_TEXT_LENGTH = 400
"""Maximum number of characters of a text on the page."""


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


@dataclass(frozen=True, eq=False)
class Items:
    """Everything that has one row per item; None if not given. Row i belongs to id i."""

    vectors: AnyArray | None = None
    labels: ItemLabels | None = None
    text: list[str] | None = None
    images: ImageSource | None = None

    def vector(self, item: int) -> AnyArray | None:
        """Return the vector of an item as float64, or None."""
        if self.vectors is None or not 0 <= item < len(self.vectors):
            return None
        return np.asarray(self.vectors[item], np.float64)

    def labels_of(self, ids: Ids) -> Int32Array:
        """Return the class numbers of items, -1 if unlabeled."""
        if self.labels is None:
            return np.full(len(ids), UNLABELED, np.int32)
        numbers = self.labels.numbers
        there = (ids >= 0) & (ids < len(numbers))
        return np.where(there, numbers[np.where(there, ids, 0)], np.int32(UNLABELED))

    def label_of(self, item: int | None) -> int:
        """Return the class number of an item, -1 if unlabeled."""
        return UNLABELED if item is None else int(self.labels_of(np.array([item]))[0])

    def text_of(self, item: int) -> str | None:
        """Return the beginning of the text of an item, or None."""
        if self.text is None or not 0 <= item < len(self.text):
            return None
        line = self.text[item]
        return line if len(line) <= _MAX_TEXT_LENGTH else line[: _MAX_TEXT_LENGTH - 1] + "…"

    def image_path(self, item: int) -> str | None:
        """Return the path of the image of an item in the API, or None."""
        has_image = self.images is not None and item in self.images
        return f"/api/items/{item}/image" if has_image else None

    def describe(self, item: int) -> Item:
        """Return what is known about an item."""
        label, text = self.label_of(item), self.text_of(item)
        return Item(id=str(item), label=label, text=text, image=self.image_path(item))


def gather_items(
    ids: Ids,
    *,
    vectors: AnyArray | None = None,
    labels: AnyArray | None = None,
    text: list[str] | None = None,
    images: ImageSource | None = None,
) -> Items:
    """Combine what is known about the items, checking that there are enough rows.

    Parameters
    ----------
    ids
        Ids of all items.
    vectors
        Array or memory map, one row per item.
    labels
        One label per item; -1 and "" mean unlabeled.
    text
        One text per item.
    images
        Images by id.

    Returns
    -------
    Items
        The combination.

    Raises
    ------
    ParameterError
        If there are fewer rows than ids, or negative ids.
    """
    given = {"vectors": vectors, "labels": labels, "text": text}
    for name, rows in given.items():
        if rows is not None:
            _check_rows(name, len(rows), ids)
    classes = None if labels is None else ItemLabels.from_values(labels)
    return Items(vectors, classes, text, images)


def read_lines(path: Path) -> list[str]:
    """Read a text file in UTF-8, one line per item."""
    with translate_errors(path, "a text file in UTF-8", UnicodeDecodeError):
        # Not splitlines(), which also splits at characters that a line may contain.
        lines = path.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _check_rows(name: str, n_rows: int, ids: Ids) -> None:
    low, high = int(ids.min(initial=0)), int(ids.max(initial=-1))
    if low < 0:
        _validation.raise_invalid(
            "ids", "the index", f"at least 0, because they are rows of {name}", low
        )
    if n_rows <= high:
        requirement = f"one per id of the index, which go up to {high}"
        _validation.raise_invalid(name, "the items", requirement, f"{n_rows} rows")
