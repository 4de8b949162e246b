"""A segment on disk: its arrays are mapped, and verified when they are first used.

A segment file holds the codes and ids, a deleted file the removals, one bit an item; neither ever
changes. Right checksums do not make right content: before a kernel sees an array, whatever the
kernel relies on is checked too, so that no file can make it read where it should not.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfold._types import AnyArray, BoolArray, Ids, Int64Array, UInt32Array, Words
from bitfold.errors import FormatError
from bitfold.io import array_file
from bitfold.io.array_file import Container, damage
from bitfold.search.segment import MAX_ITEMS, Segment, read_only

_NONE = read_only(np.empty(0, bool))


class SegmentFile:
    """The codes and ids of a segment; shared by all segments that differ in removals only.

    Parameters
    ----------
    path
        A file written by :meth:`write`.
    n_bits
        Length of the codes.
    """

    def __init__(self, path: Path, n_bits: int) -> None:
        self.file = Container(path)
        self._n_bits = n_bits
        meta, words = self.file.meta, self.file.layout.get("words", ("", ()))
        self.n_items: int = meta.get("n_items", -1)
        self.first_id: int | None = meta.get("first_id")
        self.n_distinct = words[1][-1] if words[1] else 0
        if not (self._counts_fit() and self.file.layout in self._layouts()):
            raise damage(path, f"the header of {path.name} contradicts itself")

    @classmethod
    def write(cls, path: Path, segment: Segment, n_bits: int) -> SegmentFile:
        """Store what is not removals; ids without a gap are stored as the first alone."""
        ids, n = segment.ids, segment.n_items
        dense = n > 0 and int(ids[-1]) - int(ids[0]) == n - 1
        meta = {"n_items": n, "first_id": int(ids[0]) if dense else None}
        arrays: array_file.Arrays = {
            "words": segment.words,
            "starts": segment.starts,
            "members": segment.members,
            "ids": ids[:0] if dense else ids,
        }
        array_file.write(path, meta, arrays)
        return cls(path, n_bits)

    @cached_property
    def words(self) -> Words:
        """The distinct codes, whose padding is zero: distances stay within the code's length."""
        words = self.file.array("words")
        used = np.packbits(np.arange(64 * len(words)) < self._n_bits).view(np.uint64)[-1]
        self._demand(not np.bitwise_or.reduce(words[-1]) & ~used, "words")
        return words

    @cached_property
    def starts(self) -> UInt32Array:
        """Where each code's items begin: ascending from 0 to the number of items."""
        starts = self.file.array("starts")
        if len(starts):
            self._demand(starts[0] == 0 and starts[-1] == self.n_items, "starts")
            self._demand(_ascends(starts), "starts")
        return starts

    @cached_property
    def members(self) -> UInt32Array:
        """Each item once, ascending within a code; codes in the order of their first items."""
        members, starts = self.file.array("members"), self.starts
        if len(members):
            seen = np.zeros(self.n_items, bool)
            self._demand(members.max() < self.n_items, "members")
            seen[members] = True
            self._demand(seen.all() and _ascends(members[starts[:-1]]), "members")
            rises = members[1:] > members[:-1]
            rises[starts[1:-1] - np.uint32(1)] = True
            self._demand(rises.all(), "members")
        return members

    @cached_property
    def ids(self) -> Ids:
        """The id of each item, ascending."""
        if self.first_id is not None:
            return read_only(self.first_id + np.arange(self.n_items))
        ids = self.file.array("ids")
        self._demand(_ascends(ids), "ids")
        return ids

    def _counts_fit(self) -> bool:
        n, first = self.n_items, self.first_id
        fits = type(n) is int and self.n_distinct <= n <= MAX_ITEMS
        if first is None:
            return fits
        return fits and type(first) is int and -(1 << 63) <= first <= (1 << 63) - n

    def _layouts(self) -> list[dict[str, array_file.Layout]]:
        """Return what the arrays may look like: with and, if all codes differ, without lists."""
        n, u = self.n_items, self.n_distinct
        n_ids = n if self.first_id is None else 0
        rest = {"words": ("<u8", (-(-self._n_bits // 64), u)), "ids": ("<i8", (n_ids,))}
        lists = [(u + 1, n)] if n else []
        alone = [(0, 0)] if u == n else []
        return [
            {**rest, "starts": ("<u4", (starts,)), "members": ("<u4", (members,))}
            for starts, members in lists + alone
        ]

    def _demand(self, right: Any, name: str) -> None:
        if not right:
            raise _nonsense(self.file.path, name)


class DeletedFile:
    """Which items of a segment were removed.

    Parameters
    ----------
    path
        A file written by :meth:`write`.
    n_items
        Items of the segment.
    """

    def __init__(self, path: Path, n_items: int) -> None:
        self.file = Container(path)
        self._n_items = n_items
        self.n_deleted: int = self.file.meta.get("n_deleted", -1)
        layout = {"deleted": ("|u1", (-(-n_items // 8),))}
        counted = type(self.n_deleted) is int and 1 <= self.n_deleted <= n_items
        if not counted or self.file.layout != layout or self.file.meta.get("n_items") != n_items:
            raise damage(path, f"the header of {path.name} contradicts itself")

    @classmethod
    def write(cls, path: Path, deleted: BoolArray) -> DeletedFile:
        """Store one bit an item."""
        meta = {"n_items": len(deleted), "n_deleted": int(np.count_nonzero(deleted))}
        array_file.write(path, meta, {"deleted": np.packbits(deleted)})
        return cls(path, len(deleted))

    @cached_property
    def flags(self) -> BoolArray:
        """One boolean an item."""
        flags = np.unpackbits(self.file.array("deleted"), count=self._n_items).view(bool)
        if np.count_nonzero(flags) != self.n_deleted:
            raise _nonsense(self.file.path, "deleted")
        return read_only(flags)


class StoredSegment(Segment):
    """A segment whose arrays come from files when they are asked for.

    Parameters
    ----------
    body
        The file of the codes and ids.
    removed
        The file of the removals, or flags not stored yet; empty when there are none.
    """

    def __init__(self, body: SegmentFile, removed: DeletedFile | BoolArray = _NONE) -> None:
        self.body = body
        self.removed = removed

    @property
    def words(self) -> Words:
        """The distinct codes."""
        return self.body.words

    @property
    def starts(self) -> UInt32Array:
        """Where each code's items begin."""
        return self.body.starts

    @property
    def members(self) -> UInt32Array:
        """The items, code by code."""
        return self.body.members

    @property
    def ids(self) -> Ids:
        """The id of each item; :meth:`ids_of` takes less memory."""
        return self.body.ids

    @property
    def deleted(self) -> BoolArray:
        """Which items were removed."""
        return self.removed.flags if isinstance(self.removed, DeletedFile) else self.removed

    @property
    def n_items(self) -> int:
        """How many items there are, the removed ones among them."""
        return self.body.n_items

    @cached_property
    def n_deleted(self) -> int:
        """How many items were removed."""
        if isinstance(self.removed, DeletedFile):
            return self.removed.n_deleted
        return int(np.count_nonzero(self.removed))

    @property
    def n_distinct(self) -> int:
        """How many different codes there are."""
        return self.body.n_distinct

    @property
    def files(self) -> list[Container]:
        """The file of the codes, and that of the removals if they are stored."""
        removed = [self.removed.file] if isinstance(self.removed, DeletedFile) else []
        return [self.body.file, *removed]

    def verify(self) -> None:
        """Read every byte; raise at the first damage."""
        # Ids without a gap are not in the file, and would only take memory.
        ids = ("ids",) if self.body.first_id is None else ()
        for name in ("words", "starts", "members", "deleted", *ids):
            getattr(self, name)

    def ids_of(self, items: NDArray[np.integer]) -> Ids:
        """Return the ids of some items."""
        first = self.body.first_id
        return super().ids_of(items) if first is None else first + items.astype(np.int64)

    def _locate(self, ids: Ids) -> Int64Array:
        first = self.body.first_id
        if first is None:
            return super()._locate(ids)
        return np.where((ids >= first) & (ids < first + self.n_items), ids - first, -1)

    def _with_deleted(self, deleted: BoolArray) -> Segment:
        return StoredSegment(self.body, read_only(deleted))


def _ascends(values: AnyArray) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _nonsense(path: Path, name: str) -> FormatError:
    return damage(path, f"array {name} of {path.name} has a right checksum and wrong values")
