"""faiss: codes in its binary indexes, and in their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, Ids, PathLike, ProgressCallback, UInt8Array
from bitfold.codes import Codes, count_bytes
from bitfold.errors import FormatError, MissingStoreError
from bitfold.io.atomic import replace_atomically
from bitfold.search import HammingIndex, Hits, RadiusHits
from bitfold.search import ids as numbers
from bitfold.stores.contract import Batch, Store, check_bits, check_codes, flat, raise_invalid
from bitfold.stores.faiss.files import (
    Remembering,
    check_sound,
    engine_of,
    flat_codes,
    kind_of,
    library,
    listed,
    storage_of,
    with_ids,
)
from bitfold.stores.filters import Condition

Ranged = tuple[Ids, AnyArray, Ids]
"""Offsets, distances and ids of a range search."""

_BATCH_ROWS = 1 << 17
_BLOCK_ANSWERS = 1 << 24
"""Answers of a range search held at once, at most, unless one query has more."""


class FaissStore(Store):
    """A faiss binary index that gives ties by id and inclusive radii.

    Search is exact whatever the kind: HNSW and MultiHash are searched through the flat codes
    they keep, an IVF through a copy in a :class:`bitfold.HammingIndex`, made when needed. With
    ``exact=False`` the index works as faiss means it to, by the settings of :attr:`engine`
    (``nprobe``, ``hnsw.efSearch``, ``nflip``).

    Parameters
    ----------
    index
        A Flat, IVF, HNSW or MultiHash binary index of faiss, also in an IDMap; without one its
        codes have the ids 0, 1, 2, …
    n_bits
        Length of the codes. faiss wants a multiple of 8; codes between are padded with zeros.
        None takes its length.
    vectors
        The originals, an array or a memory map, row i of id i, for :class:`RerankByStoredVectors`.

    Attributes
    ----------
    index
        The faiss index, which answers with ids.
    engine
        The Flat, IVF, HNSW or MultiHash index in it.

    Examples
    --------
    >>> store = FaissStore.create(n_bits=3, factory="BFlat")
    >>> store.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
    >>> store.search(Codes.from_bits([[0, 0, 1]]), k=2).ids.tolist()
    [[0, 2]]
    >>> store.save("codes.faiss")
    >>> FaissStore.open("codes.faiss", n_bits=3).count()
    3
    """

    def __init__(self, index: Any, n_bits: int | None = None, *, vectors: Any = None) -> None:
        self._given = index  # what faiss hands on does not keep it alive
        self.index = with_ids(index)
        self.engine = engine_of(self.index)
        width = self.engine.d
        self.n_bits = check_bits(width if n_bits is None else n_bits, "FaissStore")
        if count_bytes(self.n_bits) * 8 != width:
            raise_invalid(
                self, "n_bits", f"{width - 7} to {width}, as the index has them", self.n_bits
            )
        self._originals = vectors
        known, packed = self._content()
        numbers.raise_repeated(known, "FaissStore")
        if self.n_bits % 8 and len(packed) and np.bitwise_or.reduce(packed[:, -1]) & self._unused:
            raise_invalid(
                self, "n_bits", f"{width}: bits beyond {self.n_bits} are set", self.n_bits
            )
        self._next_id = max(0, int(known.max()) + 1) if len(known) else 0

    @classmethod
    def create(cls, n_bits: int, factory: str = "BFlat", *, vectors: Any = None) -> Self:
        """Make an empty store in memory.

        Parameters
        ----------
        n_bits
            Length of the codes.
        factory
            What faiss's ``index_binary_factory`` makes of it: "BFlat", "BIVF1024", "BHNSW32",
            "BHash4x16" (four tables of 16 bits). IVF is trained on the first codes added.
        vectors
            The originals, row i of id i, for :class:`RerankByStoredVectors`.
        """
        faiss = library()
        check_bits(n_bits, "FaissStore")
        try:
            index = faiss.index_binary_factory(count_bytes(n_bits) * 8, str(factory))
        except RuntimeError:
            raise_invalid(cls, "factory", "such as 'BFlat', 'BIVF1024' or 'BHNSW32'", repr(factory))
        return cls(index, n_bits, vectors=vectors)

    @classmethod
    def open(cls, path: PathLike, n_bits: int | None = None, *, vectors: Any = None) -> Self:
        """Read a file of faiss. It carries no checksum: open what you trust.

        Parameters
        ----------
        path
            A file written by :meth:`save` or faiss itself.
        n_bits
            Length of the codes, which such a file knows to 8 bits only; None takes all.
        vectors
            The originals, row i of id i, for :class:`RerankByStoredVectors`.
        """
        faiss = library()
        if not Path(path).exists():
            raise MissingStoreError(f"{path} does not exist.")
        try:
            index = faiss.read_index_binary(str(path))
            check_sound(index)
        except (RuntimeError, MemoryError, OverflowError):
            raise FormatError(f"{path} must be a faiss file of a binary index, got another or a "
                              "damaged one.") from None  # fmt: skip
        return cls(index, n_bits, vectors=vectors)

    def save(self, path: PathLike) -> None:
        """Write a file of faiss, whole or not at all.

        Parameters
        ----------
        path
            The file to create or replace.
        """
        faiss = library()
        with replace_atomically(path) as file:
            write = Remembering(file.write)
            try:
                faiss.write_index_binary(self.index, faiss.PyCallbackIOWriter(write))
            except Exception:
                # faiss says that writing failed; what the system said is the cause.
                raise write.problem or OSError(f"{path} could not be written by faiss.") from None

    def load(self, batches: Iterable[Batch], progress: ProgressCallback | None = None) -> None:
        """Add batch after batch as one change.

        Parameters
        ----------
        batches
            Held in memory together, as the index is.
        progress
            Called with (stage, done, total) after each.
        """
        numbering = numbers.Numbering("FaissStore", self._next_id)
        packed, fresh = [np.empty((0, self.engine.code_size), np.uint8)], [np.empty(0, np.int64)]
        for codes, ids, vectors, columns in batches:
            check_codes(codes, self.n_bits, "FaissStore")
            if vectors is not None or columns:
                raise_invalid(
                    self, "a batch", "codes and ids: vectors go to create or open", "more"
                )
            fresh.append(numbering.assign(ids, len(codes)))
            packed.append(codes.packed)
            if progress:
                progress("reading", sum(map(len, fresh)), 0)
        self._append(np.concatenate(packed), np.concatenate(fresh))
        self._next_id = numbering.next_id

    def delete(self, ids: ArrayLike) -> None:
        """Delete codes by id; HNSW and MultiHash, which cannot, are built again.

        Parameters
        ----------
        ids
            Ids of codes in the store; an unknown one is an error, and nothing is deleted.
        """
        gone = np.unique(numbers.integers(ids, "FaissStore"))
        self._places(gone)
        if kind_of(self.engine) in ("IndexBinaryFlat", "IndexBinaryIVF"):
            self.index.remove_ids(gone)
        else:
            known, packed = self._content()
            kept = ~np.isin(known, gone)
            known, packed = known[kept], packed[kept]
            self.index.reset()
            self._insert(packed, known)
        self._forget()

    def count(self) -> int:
        """How many codes there are."""
        return int(self.index.ntotal)

    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """
        places = self._places(numbers.integers(ids, "FaissStore"))
        return Codes(self._content()[1][places], self.n_bits)

    def vectors(self, ids: ArrayLike) -> Float32Array:
        """Return the originals of some ids, from the array the user gave.

        Parameters
        ----------
        ids
            Ids of rows of that array.
        """
        if self._originals is None:
            raise_invalid(self, "vectors", "given to create or open, for re-ranking", "None")
        originals = _validation.check_matrix(self._originals, "FaissStore", name="vectors")
        rows = numbers.integers(ids, "FaissStore")
        missing = rows[(rows < 0) | (rows >= len(originals))]
        if len(missing):
            demand = f"complete: a row for id {missing[0]}"
            raise_invalid(self, "vectors", demand, f"{len(originals)} rows without it")
        return np.asarray(originals[rows], np.float32)

    def batches(self) -> Iterator[Batch]:
        """Read all codes with their ids, a batch at a time."""
        known, packed = self._content()
        for start in range(0, len(known), _BATCH_ROWS):
            part = slice(start, start + _BATCH_ROWS)
            yield Batch(Codes(packed[part], self.n_bits), known[part])

    def __repr__(self) -> str:
        return f"FaissStore({self.count()} x {self.n_bits} bits, {kind_of(self.engine)})"

    def _exact(self, codes: Codes, k: int, where: Any) -> Hits:
        k = min(k, self.count())
        if self._lists and k:
            return self._twin.search(codes, k)
        if not k or not len(codes):
            shape = len(codes), k
            return Hits(np.empty(shape, np.int64), np.empty(shape, np.int32))
        # One more than asked for tells where the k-th distance is shared beyond the cut.
        distances, ids = self._scan(codes.packed, min(k + 1, self.count()))
        order = np.lexsort((ids, distances), axis=1)
        distances, ids = (np.take_along_axis(array, order, 1) for array in (distances, ids))
        found = Hits(ids[:, :k].copy(), distances[:, :k].copy())
        farthest = found.distances[:, -1]
        tied = (distances[:, k:] == farthest[:, None]).any(axis=1)
        for radius in np.unique(farthest[tied]):
            asked = np.flatnonzero(tied & (farthest == radius))
            self._settle(found, asked, int(radius), codes, k)
        return found

    def _settle(self, found: Hits, asked: Ids, radius: int, codes: Codes, k: int) -> None:
        """Rank queries whose k-th distance is shared by more codes than fit, by all of these."""
        for near, part in self._ranges(codes[asked], radius):
            for query, first in zip(asked[part], near.offsets, strict=False):
                found.ids[query] = near.ids[first : first + k]
                found.distances[query] = near.distances[first : first + k]

    def _within(self, codes: Codes, radius: int, where: Any) -> RadiusHits:
        if self._lists:
            return self._twin.within(codes, radius)
        parts = list(self._ranges(codes, radius))
        if len(parts) == 1:
            return parts[0][0]
        counts = np.concatenate([[0], *(np.diff(near.offsets) for near, _ in parts)])
        ids = np.concatenate([np.empty(0, np.int64), *(near.ids for near, _ in parts)])
        distances = [np.empty(0, np.int32), *(near.distances for near, _ in parts)]
        return RadiusHits(np.cumsum(counts, dtype=np.int64), ids, np.concatenate(distances))

    def _ranges(self, codes: Codes, radius: int) -> Iterator[tuple[RadiusHits, slice]]:
        """Answer a radius search block by block, so that few answers are held at once."""
        step = max(1, _BLOCK_ANSWERS // max(self.count(), 1))
        for start in range(0, len(codes), step):
            part = slice(start, min(start + step, len(codes)))
            # faiss's radius is the first distance that no longer counts.
            offsets, distances, ids = self._range(codes.packed[part], radius + 1)
            query = np.repeat(np.arange(part.stop - start), np.diff(offsets))
            yield flat(query, ids, distances, part.stop - start), part

    def _probe(self, codes: Codes, k: int, where: Any) -> RadiusHits:
        distances, ids = self.index.search(codes.packed, k)
        # What was not found has an id of -1, which may be a user's, and a distance beyond all.
        found = (distances >= 0) & (distances <= self.engine.d)
        query = np.nonzero(found)[0]
        return flat(query, ids[found], distances[found], len(codes))

    def _filter(self, groups: list[list[Condition]]) -> Any:
        raise_invalid(self, "where", "None: faiss keeps no columns", "conditions")

    def _scan(self, packed: UInt8Array, k: int) -> tuple[AnyArray, AnyArray]:
        distances, places = storage_of(self.engine).search(packed, k)
        return distances, self._ids[places]

    def _range(self, packed: UInt8Array, radius: int) -> Ranged:
        if not self.count():
            return np.zeros(len(packed) + 1, np.int64), np.empty(0), np.empty(0, np.int64)
        offsets, distances, places = storage_of(self.engine).range_search(packed, radius)
        return offsets.astype(np.int64), distances, self._ids[places]

    def _append(self, packed: UInt8Array, fresh: Ids) -> None:
        """Add what is new to the index, or nothing."""
        if not len(fresh):
            return
        numbers.raise_repeated(fresh, "FaissStore")
        taken = fresh[np.isin(fresh, self._ids)]
        if len(taken):
            numbers.raise_taken("FaissStore", taken)
        if not self.engine.is_trained:
            if len(fresh) < self.engine.nlist:
                demand = f"at least {self.engine.nlist} at first, to train the lists"
                raise_invalid(self, "codes", demand, len(fresh))
            # faiss would print a warning where a list has few codes.
            self.engine.cp.min_points_per_centroid = 1
            self.engine.train(packed)
        self._insert(packed, fresh)
        self._forget()

    def _insert(self, packed: UInt8Array, fresh: Ids) -> None:
        if len(fresh):
            self.index.add_with_ids(np.ascontiguousarray(packed), fresh)

    def _content(self) -> tuple[Ids, UInt8Array]:
        """Return all ids and codes in faiss's order; a view that holds until the next change."""
        if self._lists:
            return listed(self.engine)
        return self._ids, flat_codes(storage_of(self.engine))

    @cached_property
    def _ids(self) -> Ids:
        faiss = library()
        if self._lists:
            return listed(self.engine)[0]
        return np.asarray(faiss.vector_to_array(self.index.id_map), np.int64)

    @property
    def _lists(self) -> bool:
        return kind_of(self.engine) == "IndexBinaryIVF"

    @cached_property
    def _twin(self) -> HammingIndex:
        """What an IVF holds, for exact search.

        By itself it finds those lists that its quantizer finds, which may not be all, and drops a
        code of id -1, by which it means none.
        """
        ids, packed = self._content()
        index = HammingIndex(self.n_bits)
        index.add(Codes(packed, self.n_bits), ids=ids)
        return index

    @cached_property
    def _order(self) -> Ids:
        return np.argsort(self._ids, kind="stable")

    def _places(self, ids: Ids) -> Ids:
        """Where in faiss's order some ids stand; an unknown one is an error."""
        if not len(self._ids):
            self._known(ids, np.zeros(len(ids), bool))
            return ids
        found = np.searchsorted(self._ids, ids, sorter=self._order)
        places = self._order[np.minimum(found, len(self._ids) - 1)]
        self._known(ids, self._ids[places] == ids)
        return places

    def _forget(self) -> None:
        """Drop what was derived from the index before it changed."""
        for name in ("_ids", "_twin", "_order"):
            self.__dict__.pop(name, None)

    @property
    def _unused(self) -> int:
        """The bits of a code's last byte that are padding."""
        return (1 << (-self.n_bits % 8)) - 1
