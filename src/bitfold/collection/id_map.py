"""Ids of items: integers or strings of the user, and the rows they belong to.

Integers that equal the number of their row are not stored at all. Other integers are in a file
that is mapped, so that a search needs no database, and in the table, which finds their rows.
Strings are in the table only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, BoolArray, Int64Array
from bitfold.collection.items import ItemsTable
from bitfold.errors import DataError, ParameterTypeError
from bitfold.search import IdAssigner, check_ids, raise_duplicate_ids, raise_unknown_ids

_OWNER = "Collection"

ItemIds = Int64Array | list[str]
"""Checked ids: an array of integers, or a list of strings."""


def check_item_ids(ids: Any, name: str = "ids", owner: str = _OWNER) -> ItemIds:
    """Return ids as integers or strings; raise for anything else."""
    listed = _list_objects([ids] if isinstance(ids, str) else ids, name, owner)
    if not any(isinstance(item, str) for item in listed):
        return check_ids(listed or ids, owner, name)
    for item in listed:
        if not isinstance(item, str):
            requirement = "all integers or all strings"
            raise ParameterTypeError(name, owner, requirement, f"{item!r:.40} and strings")
        if not item or "\0" in item or any("\ud800" <= c <= "\udfff" for c in item):
            requirement = "strings with at least one character, without NUL or lone surrogates"
            _validation.raise_invalid(name, owner, requirement, ascii(item)[:60])
    return [str(item) for item in listed]


def _list_objects(ids: Any, name: str, owner: str) -> list[Any]:
    """Return ids that may be strings as a list; numpy would convert numbers among strings."""
    if isinstance(ids, (list, tuple)):
        return list(ids)
    array = _validation.convert_to_array(ids, name, owner)
    return array.tolist() if array.ndim == 1 and array.dtype.kind in "UOT" else []


def kind_of(ids: ItemIds) -> str:
    """Return "int" or "str"."""
    return "str" if isinstance(ids, list) else "int"


class IdMap(NamedTuple):
    """The ids of the rows of one state.

    Parameters
    ----------
    items
        The table, and the state.
    explicit
        Integer ids of the rows after the implicit ones.
    is_live
        Function that returns which rows have not been removed.
    """

    items: ItemsTable
    explicit: Int64Array
    is_live: Callable[[Int64Array], BoolArray]

    def to_ids(self, rows: Int64Array) -> AnyArray:
        """Return the ids of some rows, in the same shape."""
        state = self.items.state
        if state.id_kind == "str":
            ids = np.empty(rows.size, object)
            ids[:] = self.items.read_ids(rows.ravel())
            return ids.reshape(rows.shape)
        if state.n_implicit == state.n_rows:
            return rows
        is_explicit = rows >= state.n_implicit
        stored = self.explicit[np.where(is_explicit, rows - state.n_implicit, 0)]
        return np.where(is_explicit, stored, rows)

    def find(self, ids: ItemIds) -> Int64Array:
        """Return the row of each id, -1 for unknown ids."""
        if self.items.state.id_kind != kind_of(ids):
            return np.full(len(ids), -1, np.int64)
        listed = ids if isinstance(ids, list) else ids.tolist()
        if not isinstance(ids, list):
            rows = self._find_implicit(ids)
        else:
            rows = np.full(len(ids), -1, np.int64)
        missing = np.flatnonzero(rows < 0).tolist()
        if missing and self.items.state.n_implicit < self.items.state.n_rows:
            found = self.items.find_ids([listed[at] for at in missing])
            for at in missing:
                rows[at] = found.get(listed[at], -1)
        return rows

    def find_known(self, ids: Any) -> Int64Array:
        """Return the row of each id that a user passed; raise if one is unknown."""
        checked = check_item_ids(ids)
        rows = self.find(checked)
        if (rows < 0).any():
            listed = checked if isinstance(checked, list) else checked.tolist()
            raise_unknown_ids([listed[at] for at in np.flatnonzero(rows < 0)], _OWNER)
        return rows

    def _find_implicit(self, ids: Int64Array) -> Int64Array:
        rows = np.where((ids >= 0) & (ids < self.items.state.n_implicit), ids, -1)
        candidates = np.flatnonzero(rows >= 0)
        rows[candidates[~self.is_live(rows[candidates])]] = -1
        return rows


class NewIds:
    """The ids of rows that are being added, batch by batch.

    Parameters
    ----------
    ids
        What the user passed for all rows; None assigns the next integers.
    kind
        Kind of the ids that are there; None if there are none.
    next_id
        The first automatic id.
    """

    def __init__(self, ids: Any, kind: str | None, next_id: int) -> None:
        self._ids = None if ids is None else check_item_ids(ids)
        self.kind = kind or ("int" if self._ids is None else kind_of(self._ids))
        self._assigner = IdAssigner(_OWNER, next_id)
        self._n_taken = 0
        if self._ids is None and self.kind == "str":
            raise DataError("ids of Collection are strings; pass one for each new row.")
        if self._ids is not None and len(self._ids) and kind_of(self._ids) != self.kind:
            have, got = ("strings", "integers") if self.kind == "str" else ("integers", "strings")
            raise DataError(f"ids of Collection are {have}; got {got}.")
        _check_unique(self._ids)

    @property
    def next_id(self) -> int:
        """The next automatic id."""
        return self._assigner.next_id

    def take(self, n_rows: int) -> ItemIds:
        """Return the ids of the next rows."""
        part = slice(self._n_taken, self._n_taken + n_rows)
        self._n_taken += n_rows
        if self._ids is None:
            return self._assigner.assign(None, n_rows)
        if len(self._ids) < self._n_taken:
            self._raise_count("more rows")
        taken = self._ids[part]
        return taken if isinstance(taken, list) else self._assigner.assign(taken, n_rows)

    def check_end(self) -> None:
        """Raise if there are more ids than rows."""
        if self._ids is not None and len(self._ids) != self._n_taken:
            self._raise_count(f"{self._n_taken} rows")

    def _raise_count(self, n_rows: str) -> None:
        n_ids = 0 if self._ids is None else len(self._ids)
        raise DataError(f"ids of Collection must be one per row; got {n_ids} for X with {n_rows}.")


def _check_unique(ids: ItemIds | None) -> None:
    if ids is None:
        return
    unique, counts = np.unique(
        np.array(ids, object) if isinstance(ids, list) else ids, return_counts=True
    )
    if (counts > 1).any():
        raise_duplicate_ids(unique[counts > 1].tolist(), _OWNER)
