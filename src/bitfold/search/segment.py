"""A segment: an immutable set of codes in which equal codes are stored once.

Manifold codes repeat often, so only the distinct codes are scanned. Items are numbered in the
order of their ids, and distinct codes in the order of their first items. Ties by item number are
therefore ties by id, without sorting.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bitfold._kernels import distinct
from bitfold._kernels.postings import CodeItems
from bitfold._threads import lazy_property
from bitfold._types import AnyArray, BoolArray, Ids, Int64Array, UInt32Array, Words
from bitfold.search.arrays import read_only
from bitfold.search.tables import TableCache

MAX_ITEMS = 1 << 31
"""Largest number of items per segment: items are numbered with 32 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Segment:
    """Codes with their ids; never modified, only replaced.

    Parameters
    ----------
    words
        The distinct codes as 64-bit words, one column per code: the fastest layout to scan.
    starts, members
        The items of code c are ``members[starts[c]:starts[c + 1]]``. Both are empty if every
        code has one item, which then has the code's number.
    ids
        The id of each item, ascending.
    deleted
        Whether each item was removed; empty if none was.
    tables
        Tables of radius lookup. Segments that differ only in their deleted items share them.
    """

    words: Words
    starts: UInt32Array
    members: UInt32Array
    ids: Ids
    deleted: BoolArray
    tables: TableCache = field(default_factory=TableCache)

    def __post_init__(self) -> None:
        for name in ("words", "starts", "members", "ids", "deleted"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def build(cls, words: Words, ids: Ids) -> Segment:
        """Group equal codes, given one row per code; ids must be unique, in any order."""
        if len(ids) > 1 and not (ids[1:] > ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            words, ids = words[order], ids[order]
        rows, code_of = distinct.group_rows(words)
        n, n_distinct = len(words), len(rows)
        if n_distinct == n:
            starts, members = np.empty(0, np.uint32), np.empty(0, np.uint32)
        else:
            starts, members = np.empty(n_distinct + 1, np.uint32), np.empty(n, np.uint32)
            distinct.list_members(code_of, starts, members)
        columns = np.ascontiguousarray(rows.T)
        return cls(columns, starts, members, ids, np.empty(0, bool))

    @classmethod
    def merge(cls, parts: list[Segment]) -> Segment:
        """Join segments of disjoint ids, without their deleted items."""
        words = np.concatenate([part.item_words()[part.live] for part in parts])
        ids = np.concatenate([part.ids[part.live] for part in parts])
        return cls.build(words, ids)

    def __len__(self) -> int:
        """Return the number of live items."""
        return self.n_items - self.n_deleted

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items, {self.n_distinct} codes)"

    @property
    def n_items(self) -> int:
        """Number of items, including deleted ones."""
        return len(self.ids)

    @lazy_property
    def n_deleted(self) -> int:
        """Number of deleted items."""
        return int(np.count_nonzero(self.deleted))

    @property
    def n_distinct(self) -> int:
        """Number of distinct codes."""
        return int(self.words.shape[1])

    @property
    def postings(self) -> tuple[UInt32Array, UInt32Array, BoolArray]:
        """The arrays that say which items have a code."""
        return self.starts, self.members, self.deleted

    @property
    def item_table(self) -> CodeItems:
        """The items of the codes for fast lookup; empty if it does not pay off."""
        return self.tables.tabulate_items(self.starts, self.members)

    @lazy_property
    def live(self) -> BoolArray:
        """Whether each item is still present."""
        return ~self.deleted if len(self.deleted) else np.ones(self.n_items, bool)

    def ids_of(self, items: NDArray[np.integer]) -> Ids:
        """Return the ids of some items."""
        first = self.first_id
        return np.take(self.ids, items) if first is None else first + items.astype(np.int64)

    @property
    def first_id(self) -> int | None:
        """The first id if all are consecutive, as automatic ids are; else None."""
        n, ids = self.n_items, self.ids
        return int(ids[0]) if n and int(ids[-1]) - int(ids[0]) == n - 1 else None

    def item_words(self, items: NDArray[np.integer] | None = None) -> Words:
        """Return the codes of some or all items, one row per item."""
        if not len(self.starts):
            return self.words.T if items is None else self.words.T[items]
        return self.words.T[self._code_of if items is None else self._code_of[items]]

    @property
    def item_codes(self) -> NDArray[np.integer]:
        """Number of the distinct code of each item."""
        return self._code_of if len(self.starts) else np.arange(self.n_items)

    @lazy_property
    def _code_of(self) -> UInt32Array:
        """Number of the distinct code of each item."""
        code_of = np.empty(self.n_items, np.uint32)
        starts = self.starts.astype(np.int64)
        counts = starts[1:] - starts[:-1]
        code_of[self.members] = np.repeat(np.arange(self.n_distinct, dtype=np.uint32), counts)
        return code_of

    def find(self, ids: Ids) -> Int64Array:
        """Return the live item of each id, -1 for unknown ids."""
        items = self._locate(ids)
        if len(self.deleted):
            items[(items >= 0) & self.deleted[items]] = -1
        return items

    def without(self, items: Int64Array) -> Segment:
        """Return the segment with some items deleted."""
        deleted = self.deleted.copy() if len(self.deleted) else np.zeros(self.n_items, bool)
        deleted[items] = True
        return self._with_deleted(deleted)

    def expand_mask(self, mask: BoolArray) -> BoolArray:
        """Return a mask of the live items as a mask of all items."""
        if not self.n_deleted:
            return mask
        expanded = self.live.copy()
        expanded[self.live] = mask
        return expanded

    def gather(self, items: AnyArray) -> Segment:
        """Return a copy of some live items, ascending or as a mask, one code per item.

        Equal codes are not grouped, because that takes as long as dozens of scans.
        """
        if items.dtype == bool:
            items = np.flatnonzero(items)
        codes = self._code_of[items] if len(self.starts) else items
        nothing = np.empty(0, np.uint32)
        words = np.take(self.words, codes, axis=1)
        return Segment(words, nothing, nothing, self.ids_of(items), np.empty(0, bool))

    def hide_others(self, items: AnyArray) -> Segment:
        """Return the segment with all but some live items, or those of a mask, deleted."""
        if items.dtype == bool:
            return self._with_deleted(~items)
        deleted = np.ones(self.n_items, bool)
        deleted[items] = False
        return self._with_deleted(deleted)

    def _locate(self, ids: Ids) -> Int64Array:
        """Return the item of each id, live or deleted, -1 for unknown ids."""
        if not self.n_items:
            return np.full(len(ids), -1, np.int64)
        first = self.first_id
        if first is not None:
            return np.where((ids >= first) & (ids < first + self.n_items), ids - first, -1)
        positions = np.searchsorted(self.ids, ids)
        positions[positions == self.n_items] = 0
        return np.where(self.ids[positions] == ids, positions, -1)

    def _with_deleted(self, deleted: BoolArray) -> Segment:
        return replace(self, deleted=deleted)
