"""Tables of radius lookup: the codes of a segment, sorted by parts of their bits."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np

from bitfold._kernels import buckets, postings
from bitfold._kernels.buckets import BucketArrays, PartKeys, ProbeArrays
from bitfold._kernels.postings import CodeItems
from bitfold._threads import SharedLock, map_blocks
from bitfold._types import Int64Array, UInt32Array, Words
from bitfold.search.arrays import read_only
from bitfold.search.parts import CodeSample, Parts, choose_columns, make_masks
from bitfold.search.plan import (
    Plan,
    ScanPlan,
    count_table_bytes,
    estimate_build_ns,
    estimate_least_build_ns,
    list_flips,
    needs_sample,
    plan_lookup,
    plan_scan,
    rate_parts,
    scan_fully,
)

_LEAST_DISTINCT_SHARE = 0.75
"""Items of codes are tabulated if there are more codes than this share of the items."""

NO_ITEM_TABLE = CodeItems(*(read_only(np.empty(0, np.uint32)) for _ in range(2)))
"""The table of items where none pays off."""

_MAX_SLOWDOWN = 1.5
"""Tables of another radius are used if the lookup takes at most this many times as long."""


class Tables(NamedTuple):
    """The codes of a segment, sorted by each part.

    Parameters
    ----------
    parts
        The bits of each part.
    keys
        How the value of a part is computed.
    arrays
        The sorted codes.
    """

    parts: Parts
    keys: PartKeys
    arrays: BucketArrays

    @classmethod
    def build(cls, columns: Words, parts: Parts, word_columns: Int64Array) -> Self:
        """Sort codes by parts; ``word_columns`` are the words that are copied."""
        n = columns.shape[1]
        words, order = np.empty((len(parts), n), np.uint64), np.empty((len(parts), n), np.uint32)
        firsts = locate_starts(parts)
        starts = np.empty(firsts[-1], np.uint32)
        keys = make_part_keys(parts)

        def sort(p: int) -> None:
            part_starts = starts[firsts[p] : firsts[p + 1]]
            places, values = keys.places[p], keys.values[p]
            buckets.sort_by_part(
                columns, places, values, word_columns[p], part_starts, order[p], words[p]
            )

        for _ in map_blocks(sort, range(len(parts))):
            pass
        return cls.wrap(parts, words, order, starts, word_columns)

    @classmethod
    def wrap(cls, parts: Parts, *arrays: np.ndarray) -> Self:
        """Return tables whose arrays exist: words, order, starts and columns."""
        words, order, starts, columns = (read_only(array.reshape(-1)) for array in arrays)
        firsts = read_only(locate_starts(parts)[:-1])
        return cls(
            parts, make_part_keys(parts), BucketArrays(words, order, starts, firsts, columns)
        )

    @property
    def n_bytes(self) -> int:
        """Memory of the tables."""
        n_codes = len(self.arrays.words) // len(self.parts)
        return count_table_bytes(n_codes, [len(part) for part in self.parts])


class TableLookup(NamedTuple):
    """Tables, and the values that a lookup within one radius probes in them.

    Parameters
    ----------
    tables
        The tables.
    probes
        The values to probe.
    plan
        The costs.
    """

    tables: Tables
    probes: ProbeArrays
    plan: Plan

    @classmethod
    def make(cls, tables: Tables, plan: Plan, n_words: int) -> Self:
        """Return the lookup of a plan with the same parts as the tables."""
        flips = [list_flips(len(p), r) for p, r in zip(plan.parts, plan.radii, strict=True)]
        probes = ProbeArrays(
            make_masks(plan.parts, n_words),
            np.array(plan.radii, np.int64),
            np.concatenate(flips),
            np.cumsum([len(part) for part in flips]),
        )
        return cls(tables, probes, plan)


class TableStorage(Protocol):
    """Where tables are kept beyond the process."""

    def load(self) -> list[Tables]:
        """Return the tables that are kept."""

    def save(self, tables: list[Tables]) -> None:
        """Replace the tables that are kept, if possible."""


class TableCache:
    """The tables of the codes of one segment, built as soon as they pay off.

    A lookup scans until the scans so far have taken about as long as building tables. In total,
    it therefore takes at most about twice as long as with the best choice from the beginning.

    Parameters
    ----------
    storage
        Where tables are kept beyond the process, if anywhere.
    """

    def __init__(self, storage: TableStorage | None = None) -> None:
        self._lock = SharedLock()
        self._storage = storage
        self._max_bytes = np.inf
        self._loaded: tuple[Tables, ...] | None = None if storage else ()
        self._sample: CodeSample | None = None
        self._item_table: CodeItems | None = None
        # By radius. A decision is a lookup, or None if a scan is faster.
        self._decisions: dict[int, TableLookup | None] = {}
        self._plans: dict[int, Plan | None] = {}
        self._scans: dict[int, ScanPlan] = {}
        self._scanned_ns: dict[int, float] = {}

    def __reduce__(self) -> tuple[type[TableCache], tuple[()]]:
        return TableCache, ()

    @property
    def n_bytes(self) -> int:
        """Memory of the tables and of what belongs to them."""
        n_bytes = _count_bytes(self._item_table or NO_ITEM_TABLE)
        return n_bytes + sum(tables.n_bytes for tables in self._tables)

    def adopt(self, other: TableCache) -> None:
        """Keep the tables of another cache, whose codes are the same."""
        with self._lock:
            if other._tables:
                self._keep(list(other._tables))

    def limit(self, max_bytes: float) -> None:
        """Set the memory that tables may take; another limit may allow other plans."""
        with self._lock:
            if max_bytes == self._max_bytes:
                return
            self._max_bytes, self._plans = max_bytes, {}
            self._decisions = {r: each for r, each in self._decisions.items() if each is not None}
            if self.n_bytes > max_bytes:
                self._keep(list(self._tables))

    def plan_scan(self, columns: Words, radius: int) -> ScanPlan:
        """Return how the codes are scanned."""
        if not needs_sample(*columns.shape):
            return scan_fully(*columns.shape)
        if radius not in self._scans:
            self._scans[radius] = plan_scan(self.draw(columns), radius)
        return self._scans[radius]

    def known(self, radius: int) -> TableLookup | None:
        """Return the lookup within a radius; None if there is none yet, or a scan is faster."""
        return self._decisions.get(radius)

    def is_decided(self, radius: int) -> bool:
        """Return whether it is known how all further lookups within a radius are done."""
        return radius in self._decisions

    def find(
        self, columns: Words, radius: int, n_queries: float, max_bytes: float
    ) -> TableLookup | None:
        """Return the lookup for some queries, None to scan; build tables if that pays off."""
        if max_bytes == self._max_bytes and radius in self._decisions:
            return self._decisions[radius]
        with self._lock:
            self.limit(max_bytes)
            if radius not in self._decisions:
                scan_ns = self.plan_scan(columns, radius).ns
                spent = self._scanned_ns.get(radius, 0.0) + n_queries * scan_ns
                self._scanned_ns[radius] = spent
                n_sorted = 0 if self._tables else columns.shape[1]
                if spent >= estimate_least_build_ns(len(columns), n_sorted):
                    self._decide(columns, radius, spent, scan_ns)
            return self._decisions.get(radius)

    def build(self, columns: Words, plan: Plan) -> TableLookup:
        """Build the tables of a plan, without keeping them."""
        word_columns = choose_columns(plan.parts, self.draw(columns).differences)
        tables = Tables.build(columns, plan.parts, word_columns)
        return TableLookup.make(tables, plan, len(columns))

    def tabulate_items(self, starts: UInt32Array, members: UInt32Array) -> CodeItems:
        """Return the items of the codes; an empty table if it does not pay off.

        It pays off if some codes have several items, but most have one.
        """
        table = self._item_table
        if table is None:
            with self._lock:
                n_codes, n_items = max(0, len(starts) - 1), len(members)
                pays_off = n_items and n_codes > _LEAST_DISTINCT_SHARE * n_items
                table = make_item_table(starts, members) if pays_off else NO_ITEM_TABLE
                n_bytes = sum(tables.n_bytes for tables in self._tables) + _count_bytes(table)
                self._item_table = table = table if n_bytes <= self._max_bytes else NO_ITEM_TABLE
        return table

    def draw(self, columns: Words) -> CodeSample:
        """Return the sample by which plans are compared."""
        if self._sample is None:
            self._sample = CodeSample.draw(columns)
        return self._sample

    def _decide(self, columns: Words, radius: int, spent_ns: float, scan_ns: float) -> None:
        """Choose the lookup within a radius, unless tables do not pay off yet."""
        sample = self.draw(columns)
        if radius not in self._plans:
            self._plans[radius] = plan_lookup(sample, radius, self._max_bytes)
        plan = self._plans[radius]
        if plan is None:
            self._decisions[radius] = None
            return
        rated = [(rate_parts(sample, t.parts, radius), t) for t in self._tables]
        for existing, tables in sorted(rated, key=lambda pair: pair[0].ns)[:1]:
            if existing.ns <= min(_MAX_SLOWDOWN * plan.ns, scan_ns):
                self._decisions[radius] = TableLookup.make(tables, existing, len(columns))
                return
        if spent_ns * (1 - plan.ns / scan_ns) >= estimate_build_ns(columns.shape[1], plan.parts):
            lookup = self._decisions[radius] = self.build(columns, plan)
            # Other threads use the new tables while they are written to the disk.
            self._keep([*self._tables, lookup.tables])

    def _keep(self, tables: list[Tables]) -> None:
        """Keep the newest tables that fit, also on disk; the others have to pay off again."""
        while tables and sum(each.n_bytes for each in tables) > self._max_bytes:
            dropped = tables.pop(0)
            for radius, lookup in list(self._decisions.items()):
                if lookup is not None and lookup.tables is dropped:
                    del self._decisions[radius], self._scanned_ns[radius]
        self._loaded = tuple(tables)
        self._item_table = None
        if self._storage is not None:
            self._storage.save(tables)

    @property
    def _tables(self) -> tuple[Tables, ...]:
        """The tables, loaded on first use."""
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = tuple(self._storage.load()) if self._storage else ()
        return self._loaded


def make_item_table(starts: UInt32Array, members: UInt32Array) -> CodeItems:
    """Return the items of each code."""
    firsts, nothing = np.empty(len(starts) - 1, np.uint32), np.empty(0, np.uint32)
    shared = np.empty(postings.tabulate_items(starts, members, firsts, nothing), np.uint32)
    postings.tabulate_items(starts, members, firsts, shared)
    return CodeItems(read_only(firsts), read_only(shared))


def _count_bytes(table: CodeItems) -> int:
    return sum(array.nbytes for array in table)


def locate_starts(parts: Parts) -> Int64Array:
    """Return where the starts of each part begin, and where the last ones end."""
    return np.cumsum([0, *((1 << len(part)) + 1 for part in parts)])


def make_part_keys(parts: Parts) -> PartKeys:
    """Return the arrays by which kernels compute the values of parts."""
    n_places = max(1, *(len({bit // 8 for bit in part}) for part in parts))
    places = np.zeros((len(parts), n_places), np.int64)
    values = np.zeros((len(parts), n_places, 256), np.uint32)
    byte = np.arange(256)
    for p, part in enumerate(parts):
        for k, place in enumerate(sorted({bit // 8 for bit in part})):
            places[p, k] = place
            for shift, bit in enumerate(part):
                if bit // 8 == place:
                    values[p, k] |= ((byte >> bit % 8 & 1) << shift).astype(np.uint32)
    return PartKeys(places, values)
