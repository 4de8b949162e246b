"""A segment on disk: its arrays are memory-mapped, and verified on first use.

A segment file contains codes and ids; a deleted file marks deleted items, one bit per item.
Neither ever changes. A matching checksum does not make the values valid: everything that a kernel
relies on is checked before it sees an array, so that no file can make it read out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from pathlib import Path

import numpy as np

from bitfold._threads import lazy_property
from bitfold._types import AnyArray, BoolArray, Ids, UInt32Array, Words
from bitfold.errors import FormatError
from bitfold.io.array_file import ArrayFile, ArrayLayout, write_arrays
from bitfold.search.arrays import read_only
from bitfold.search.disk.table_files import TableFiles
from bitfold.search.segment import MAX_ITEMS, Segment
from bitfold.search.tables import TableCache

_NO_FLAGS = read_only(np.empty(0, bool))


class DeletedFile:
    """Marks the deleted items of a segment.

    Parameters
    ----------
    path
        A file written by :meth:`write`.
    n_items
        Number of items of the segment.
    """

    def __init__(self, path: Path, n_items: int) -> None:
        self.file = ArrayFile(path, "deleted")
        self._n_items = n_items
        self.n_deleted: int = self.file.meta.get("n_deleted", -1)
        layout = {"deleted": ArrayLayout("U8", (-(-n_items // 8),))}
        is_valid = type(self.n_deleted) is int and 1 <= self.n_deleted <= n_items
        if not is_valid or self.file.layout != layout or self.file.meta.get("n_items") != n_items:
            raise _inconsistent_header(path)

    @classmethod
    def write(cls, path: Path, deleted: BoolArray) -> DeletedFile:
        """Write one bit per item."""
        meta = {"n_items": len(deleted), "n_deleted": int(np.count_nonzero(deleted))}
        write_arrays(path, "deleted", meta, {"deleted": np.packbits(deleted)})
        return cls(path, len(deleted))

    @lazy_property
    def flags(self) -> BoolArray:
        """One boolean per item."""
        flags = np.unpackbits(self.file.array("deleted"), count=self._n_items).view(bool)
        if np.count_nonzero(flags) != self.n_deleted:
            raise _invalid_values(self.file.path, "deleted")
        return read_only(flags)


class StoredSegment(Segment):
    """A segment whose arrays are read from files on first use.

    Parameters
    ----------
    path
        A file written by :meth:`write`.
    n_bits
        Length of the codes.
    may_write
        Function that returns whether tables may be written next to the file.
    """

    def __init__(
        self, path: Path, n_bits: int, may_write: Callable[[], bool] = lambda: False
    ) -> None:
        self.file = ArrayFile(path, "segment")
        self.marks: DeletedFile | BoolArray = _NO_FLAGS
        self._n_bits = n_bits
        self._first_id: int | None = self.file.meta.get("first_id")
        if not (self._has_valid_counts() and self.file.layout in self._valid_layouts()):
            raise _inconsistent_header(path)
        files = TableFiles(self.file, -(-n_bits // 64), self.n_distinct, may_write)
        vars(self)["tables"] = TableCache(files)

    @classmethod
    def write(
        cls,
        path: Path,
        segment: Segment,
        n_bits: int,
        may_write: Callable[[], bool] = lambda: False,
    ) -> StoredSegment:
        """Write codes and ids; of consecutive ids only the first is stored."""
        first, ids = segment.first_id, segment.ids
        meta = {"n_items": segment.n_items, "first_id": first}
        arrays: dict[str, AnyArray] = {
            "words": segment.words,
            "ids": ids if first is None else ids[:0],
            "starts": segment.starts,
            "members": segment.members,
        }
        write_arrays(path, "segment", meta, arrays)
        stored = cls(path, n_bits, may_write)
        stored.tables.adopt(segment.tables)
        return stored

    @property
    def first_id(self) -> int | None:
        """The first id if all are consecutive; the others are not in the file then."""
        return self._first_id

    @lazy_property
    def words(self) -> Words:
        """The distinct codes; their padding is zero, so that distances are at most n_bits."""
        words = self.file.array("words")
        used = np.packbits(np.arange(64 * len(words)) < self._n_bits).view(np.uint64)[-1]
        self._require(not np.bitwise_or.reduce(words[-1]) & ~used, "words")
        return words

    @lazy_property
    def starts(self) -> UInt32Array:
        """Where the items of each code begin, ascending from 0 to the number of items."""
        starts = self.file.array("starts")
        if len(starts):
            self._require(starts[0] == 0 and starts[-1] == self.n_items, "starts")
            self._require(_is_ascending(starts), "starts")
        return starts

    @lazy_property
    def members(self) -> UInt32Array:
        """Every item once, ascending within a code; codes in the order of their first items."""
        members, starts = self.file.array("members"), self.starts
        if len(members):
            seen = np.zeros(self.n_items, bool)
            self._require(members.max() < self.n_items, "members")
            seen[members] = True
            self._require(seen.all() and _is_ascending(members[starts[:-1]]), "members")
            rises = members[1:] > members[:-1]
            rises[starts[1:-1] - np.uint32(1)] = True
            self._require(rises.all(), "members")
        return members

    @lazy_property
    def ids(self) -> Ids:
        """The id of each item, ascending."""
        if self._first_id is not None:
            return read_only(self._first_id + np.arange(self.n_items))
        ids = self.file.array("ids")
        self._require(_is_ascending(ids), "ids")
        return ids

    @property
    def deleted(self) -> BoolArray:
        """Whether each item is deleted."""
        return self.marks.flags if isinstance(self.marks, DeletedFile) else self.marks

    @lazy_property
    def n_items(self) -> int:
        """Number of items, including deleted ones."""
        n_items: int = self.file.meta.get("n_items", -1)
        return n_items

    @lazy_property
    def n_deleted(self) -> int:
        """Number of deleted items."""
        if isinstance(self.marks, DeletedFile):
            return self.marks.n_deleted
        return int(np.count_nonzero(self.marks))

    @lazy_property
    def n_distinct(self) -> int:
        """Number of distinct codes."""
        shape = self.file.layout["words"].shape if "words" in self.file.layout else ()
        return shape[-1] if shape else 0

    @property
    def files(self) -> list[ArrayFile]:
        """The file of codes and ids and, if it exists, the file of deleted items."""
        marks = [self.marks.file] if isinstance(self.marks, DeletedFile) else []
        return [self.file, *marks]

    def verify(self) -> None:
        """Check every byte; raise FormatError if one is damaged."""
        # Consecutive ids are not in the file, and would only take memory.
        ids = ("ids",) if self._first_id is None else ()
        for name in ("words", "starts", "members", "deleted", *ids):
            getattr(self, name)

    def with_marks(self, marks: DeletedFile | BoolArray) -> StoredSegment:
        """Return the segment with other deleted items; verified arrays are not verified again."""
        other = copy(self)
        other.marks = marks
        for name in ("n_deleted", "live"):
            vars(other).pop(name, None)
        return other

    def _with_deleted(self, deleted: BoolArray) -> Segment:
        return self.with_marks(read_only(deleted))

    def _has_valid_counts(self) -> bool:
        n, first = self.n_items, self._first_id
        valid = type(n) is int and self.n_distinct <= n <= MAX_ITEMS
        if first is None:
            return valid
        return valid and type(first) is int and -(1 << 63) <= first <= (1 << 63) - n

    def _valid_layouts(self) -> list[dict[str, ArrayLayout]]:
        """Return the layouts with starts and members, and without if all codes are distinct."""
        n, n_distinct = self.n_items, self.n_distinct
        n_ids = n if self._first_id is None else 0
        shapes = [(n_distinct + 1, n)] if n else []
        if n_distinct == n:
            shapes.append((0, 0))
        return [
            {
                "words": ArrayLayout("U64", (-(-self._n_bits // 64), n_distinct)),
                "ids": ArrayLayout("I64", (n_ids,)),
                "starts": ArrayLayout("U32", (n_starts,)),
                "members": ArrayLayout("U32", (n_members,)),
            }
            for n_starts, n_members in shapes
        ]

    def _require(self, is_valid: bool | np.bool_, name: str) -> None:
        if not is_valid:
            raise _invalid_values(self.file.path, name)


def _is_ascending(values: AnyArray) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _inconsistent_header(path: Path) -> FormatError:
    return FormatError(f"{path} is damaged: the values in its header contradict each other.")


def _invalid_values(path: Path, name: str) -> FormatError:
    return FormatError(f"{path} is damaged: array {name!r} contains invalid values.")
