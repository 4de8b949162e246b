"""Ids of the items: names that people know, and the rows they belong to.

Rows number the items 0, 1, 2, …: in the order of ascending ids of an index, or in the order in
which items were added to a collection.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

import numpy as np

from bitfold._types import Ids, Int64Array
from bitfold.collection.snapshot import Snapshot


class RowIds(Protocol):
    """Ids of rows, as text."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def names(self, rows: Int64Array) -> list[str]:
        """Return the ids of some rows."""

    def find(self, name: str) -> int | None:
        """Return the row of an id, or None."""


class IntegerIds(NamedTuple):
    """Ids of an index, ascending."""

    ids: Ids

    def __len__(self) -> int:
        return len(self.ids)

    def names(self, rows: Int64Array) -> list[str]:
        """Return the ids of some rows."""
        return [str(item) for item in self.ids[rows].tolist()]

    def find(self, name: str) -> int | None:
        """Return the row of an id, or None."""
        number = parse_integer(name)
        if number is None:
            return None
        row = int(np.searchsorted(self.ids, number))
        return row if row < len(self.ids) and self.ids[row] == number else None


class CollectionIds(NamedTuple):
    """Ids of a collection, which are integers or strings."""

    snapshot: Snapshot

    def __len__(self) -> int:
        return self.snapshot.state.n_items

    def names(self, rows: Int64Array) -> list[str]:
        """Return the ids of some rows."""
        stored = self.snapshot.live_rows[rows]
        return [str(item) for item in self.snapshot.ids.to_ids(stored).tolist()]

    def find(self, name: str) -> int | None:
        """Return the row of an id, or None."""
        ids = [name] if self.snapshot.state.id_kind == "str" else _as_array(name)
        if ids is None or not is_storable(name):
            return None
        stored = int(self.snapshot.ids.find(ids)[0])
        return None if stored < 0 else int(np.searchsorted(self.snapshot.live_rows, stored))


def parse_integer(text: str) -> int | None:
    """Return an integer of 64 bits, or None if the text is not one."""
    if not re.fullmatch(r"-?[0-9]{1,19}", text):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def is_storable(text: str) -> bool:
    """Return whether SQLite can store a text."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def _as_array(name: str) -> Int64Array | None:
    number = parse_integer(name)
    return None if number is None else np.array([number], np.int64)
