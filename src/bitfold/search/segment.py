"""A segment: codes stored once each, with the items that have them.

Manifold codes repeat a lot, that is their point; so what is scanned are the distinct codes.
Items are numbered in the order of their ids, codes in the order of their first item: then ties
by item are ties by id, and nothing needs sorting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bitfold._kernels import distinct

Words = NDArray[np.uint64]
Places = NDArray[np.uint32]
Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_ITEMS = 1 << 31
"""Items of a segment are counted in 32 bits."""


@dataclass(frozen=True)
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
    dead
        Which items were removed; empty when none.
    """

    words: Words
    starts: Places
    members: Places
    ids: Ids
    dead: Flags

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
        words = np.concatenate([part.item_words()[part.living] for part in parts])
        ids = np.concatenate([part.ids[part.living] for part in parts])
        return cls.build(words, ids)

    def __len__(self) -> int:
        return len(self.ids) - int(self.dead.sum())

    @cached_property
    def living(self) -> Flags:
        """Which items are there."""
        return ~self.dead if len(self.dead) else np.ones(len(self.ids), bool)

    def item_words(self, items: NDArray[np.integer] | None = None) -> Words:
        """Return the code of each item, or of the items asked for, one a row."""
        if not len(self.starts):
            return self.words.T if items is None else self.words.T[items]
        return self.words.T[self._code_of if items is None else self._code_of[items]]

    @property
    def n_distinct(self) -> int:
        """How many different codes there are."""
        return self.words.shape[1]

    @cached_property
    def _code_of(self) -> Places:
        code_of = np.empty(len(self.ids), np.uint32)
        counts = np.diff(self.starts.astype(np.int64))
        code_of[self.members] = np.repeat(np.arange(self.n_distinct, dtype=np.uint32), counts)
        return code_of

    def find(self, ids: Ids) -> NDArray[np.int64]:
        """Return the living item of each id, -1 where there is none."""
        places = np.searchsorted(self.ids, ids)
        places[places == len(self.ids)] = 0
        found = np.zeros(len(ids), bool) if not len(self.ids) else self.ids[places] == ids
        if len(self.dead):
            found &= ~self.dead[places]
        return np.where(found, places, -1)

    def without(self, items: NDArray[np.int64]) -> Segment:
        """Return the segment with some items removed."""
        dead = self.dead.copy() if len(self.dead) else np.zeros(len(self.ids), bool)
        dead[items] = True
        return replace(self, dead=dead)


def _columns(words: Words) -> Words:
    return np.ascontiguousarray(words.T)
