"""A segment: codes stored once each, with the items that have them.

Manifold codes repeat a lot, that is their point; so what is scanned are the distinct codes.
Items are numbered in the order of their ids, codes in the order of their first item: then ties
by item are ties by id, and nothing needs sorting.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bitfold._kernels import distinct
from bitfold._types import AnyArray, BoolArray, Ids, Int64Array, UInt32Array, Words

Array = TypeVar("Array", bound=AnyArray)

MAX_ITEMS = 1 << 31
"""Largest number of items per segment: items are numbered with 32 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Segment:
    """Some codes with their ids; never changed, only replaced.

    Parameters
    ----------
    words
        The distinct codes as 64-bit words, one a column: the layout that is scanned fastest.
    starts, members
        The items of code c are ``members[starts[c]:starts[c + 1]]``; both empty when every code
        has one item, its own number.
    ids
        The id of each item, ascending.
    deleted
        Which items were removed; empty when none.
    """

    words: Words
    starts: UInt32Array
    members: UInt32Array
    ids: Ids
    deleted: BoolArray

    def __post_init__(self) -> None:
        # Mapped arrays are read-only too: kernels then compile for one kind of array.
        for field in fields(self):
            object.__setattr__(self, field.name, read_only(getattr(self, field.name)))

    @classmethod
    def build(cls, words: Words, ids: Ids) -> Segment:
        """Group equal codes, given one a row; ids must be distinct, in any order."""
        if len(ids) > 1 and not (ids[1:] > ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            words, ids = words[order], ids[order]
        words = words.copy()
        n = len(words)
        code_of = np.empty(n, np.uint32)
        table = np.full(1 << int(2 * max(n, 1)).bit_length(), -1, np.int32)
        count = distinct.group(words, table, code_of)
        nothing = np.empty(0, np.uint32)
        if count == n:
            return cls(_columns(words), nothing, nothing, ids, np.empty(0, bool))
        starts, members = np.empty(count + 1, np.uint32), np.empty(n, np.uint32)
        distinct.postings(code_of, starts, members)
        return cls(_columns(words[:count]), starts, members, ids, np.empty(0, bool))

    @classmethod
    def merge(cls, parts: list[Segment]) -> Segment:
        """Join segments of disjoint ids; the removed items are gone."""
        words = np.concatenate([part.item_words()[part.live] for part in parts])
        ids = np.concatenate([part.ids[part.live] for part in parts])
        return cls.build(words, ids)

    def __len__(self) -> int:
        return self.n_items - self.n_deleted

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items, {self.n_distinct} codes)"

    @property
    def n_items(self) -> int:
        """How many items there are, the removed ones among them."""
        return len(self.ids)

    @cached_property
    def n_deleted(self) -> int:
        """How many items were removed."""
        return int(np.count_nonzero(self.deleted))

    @cached_property
    def live(self) -> BoolArray:
        """Which items are there."""
        return ~self.deleted if len(self.deleted) else np.ones(self.n_items, bool)

    def ids_of(self, items: NDArray[np.integer]) -> Ids:
        """Return the ids of some items."""
        return np.take(self.ids, items)

    def item_words(self, items: NDArray[np.integer] | None = None) -> Words:
        """Return the code of each item, or of the items asked for, one a row."""
        if not len(self.starts):
            return self.words.T if items is None else self.words.T[items]
        return self.words.T[self._code_of if items is None else self._code_of[items]]

    @property
    def n_distinct(self) -> int:
        """How many different codes there are."""
        return int(self.words.shape[1])

    @cached_property
    def _code_of(self) -> UInt32Array:
        code_of = np.empty(self.n_items, np.uint32)
        starts = self.starts.astype(np.int64)
        counts = starts[1:] - starts[:-1]
        code_of[self.members] = np.repeat(np.arange(self.n_distinct, dtype=np.uint32), counts)
        return code_of

    def find(self, ids: Ids) -> Int64Array:
        """Return the live item of each id, -1 where there is none."""
        items = self._locate(ids)
        if len(self.deleted):
            items[(items >= 0) & self.deleted[items]] = -1
        return items

    def without(self, items: Int64Array) -> Segment:
        """Return the segment with some items removed."""
        deleted = self.deleted.copy() if len(self.deleted) else np.zeros(self.n_items, bool)
        deleted[items] = True
        return self._with_deleted(deleted)

    def _locate(self, ids: Ids) -> Int64Array:
        """Return the item of each id, -1 where there never was one."""
        if not self.n_items:
            return np.full(len(ids), -1, np.int64)
        places = np.searchsorted(self.ids, ids)
        places[places == self.n_items] = 0
        return np.where(self.ids[places] == ids, places, -1)

    def _with_deleted(self, deleted: BoolArray) -> Segment:
        return replace(self, deleted=deleted)


def read_only(array: Array) -> Array:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def _columns(words: Words) -> Words:
    return np.ascontiguousarray(words.T)
