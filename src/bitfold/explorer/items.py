"""What is known of the items beside their codes: vectors, labels and text, one row an item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Ids, Int32Array
from bitfold.explorer.images import Album
from bitfold.io.formats.request import translate_errors

UNLABELED = -1
"""Number of an item's class where it has none."""

_MOST_TEXT = 400
"""Characters of an item's text that are shown."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The class of each row, as a number, and the names of the classes."""

    names: list[str]
    numbers: Int32Array

    @classmethod
    def of(cls, values: AnyArray) -> Labels:
        """Number the classes in their order; -1 and an empty name mean unlabeled."""
        if values.ndim != 1:
            _validation.raise_invalid("labels", "the items", "one a row", f"shape {values.shape}")
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
    """Everything that has a row for each item; what was not given is None.

    Row i belongs to id i, as in :class:`bitfold.RerankByVectors`.
    """

    vectors: AnyArray | None = None
    labels: Labels | None = None
    text: list[str] | None = None
    album: Album | None = None

    def vector(self, item: int) -> AnyArray | None:
        """Return an item's vector as float64, if there is one."""
        if self.vectors is None or not 0 <= item < len(self.vectors):
            return None
        return np.asarray(self.vectors[item], np.float64)

    def labels_of(self, ids: Ids) -> Int32Array:
        """Return the classes of some items, -1 where there is none."""
        if self.labels is None:
            return np.full(len(ids), UNLABELED, np.int32)
        numbers = self.labels.numbers
        there = (ids >= 0) & (ids < len(numbers))
        return np.where(there, numbers[np.where(there, ids, 0)], np.int32(UNLABELED))

    def text_of(self, item: int) -> str | None:
        """Return the beginning of an item's text."""
        if self.text is None or not 0 <= item < len(self.text):
            return None
        line = self.text[item]
        return line if len(line) <= _MOST_TEXT else line[: _MOST_TEXT - 1] + "…"

    def has_picture(self, item: int) -> bool:
        """Whether there is a picture of an item."""
        return self.album is not None and item in self.album


def gather(
    ids: Ids,
    *,
    vectors: AnyArray | None = None,
    labels: AnyArray | None = None,
    text: list[str] | None = None,
    album: Album | None = None,
) -> Items:
    """Put together what was given; each must have a row for every item.

    Parameters
    ----------
    ids
        Ids of all items.
    vectors
        One a row, an array or a memory map.
    labels
        One a row; -1 or nothing is none.
    text
        One a row.
    album
        Pictures.
    """
    given = {"vectors": vectors, "labels": labels, "text": text}
    for name, rows in given.items():
        if rows is not None:
            _check_rows(name, len(rows), ids)
    classes = None if labels is None else Labels.of(labels)
    return Items(vectors, classes, text, album)


def read_lines(path: Path) -> list[str]:
    """Read a text file in UTF-8, one item a line."""
    with translate_errors(path, "a text file in UTF-8", UnicodeDecodeError):
        # Only at \n: a line may hold other characters that Python would split at.
        lines = path.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _check_rows(name: str, n_rows: int, ids: Ids) -> None:
    low, high = int(ids.min(initial=0)), int(ids.max(initial=-1))
    if low < 0:
        _validation.raise_invalid(
            "ids", "the index", f"0 or more, to stand for rows of {name}", low
        )
    if n_rows <= high:
        demand = f"one a row for every id of the index up to {high}"
        _validation.raise_invalid(name, "the items", demand, f"{n_rows} rows")
