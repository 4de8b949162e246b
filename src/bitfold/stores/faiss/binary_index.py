"""Binary indexes of faiss behind one interface: ids, codes, and changes of both."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn

import faiss
import numpy as np

from bitfold import _validation
from bitfold._types import BoolArray, Ids, UInt8Array

_ID_MAPS = ("IndexBinaryIDMap", "IndexBinaryIDMap2")
_KINDS = ("IndexBinaryFlat", "IndexBinaryIVF", "IndexBinaryHNSW", "IndexBinaryMultiHash")


class BinaryIndex:
    """A Flat, IVF, HNSW or MultiHash index with ids.

    Parameters
    ----------
    index
        The index, also in an IDMap. The codes of an index without ids get the ids 0, 1, 2, ...

    Attributes
    ----------
    index
        The faiss index that answers with ids: an IVF, or an IDMap around another index.
    engine
        The index inside.
    """

    def __init__(self, index: Any) -> None:
        self._owner = index  # the objects that faiss hands out do not keep it alive
        self.index = _add_id_map(index)
        self.engine = _unwrap_id_map(self.index)

    def __len__(self) -> int:
        return int(self.index.ntotal)

    @property
    def is_ivf(self) -> bool:
        """Whether the codes are in inverted lists instead of a flat array."""
        return kind_of(self.engine) == "IndexBinaryIVF"

    @property
    def storage(self) -> Any:
        """The flat index that holds the codes of a Flat, HNSW or MultiHash index."""
        is_flat = kind_of(self.engine) == "IndexBinaryFlat"
        return faiss.downcast_IndexBinary(self.engine if is_flat else self.engine.storage)

    @cached_property
    def ids(self) -> Ids:
        """Ids in faiss's order."""
        if self.is_ivf:
            return _copy_lists(self.engine)[0]
        return np.asarray(faiss.vector_to_array(self.index.id_map), np.int64)

    @cached_property
    def _order(self) -> Ids:
        return np.argsort(self.ids, kind="stable")

    def content(self) -> tuple[Ids, UInt8Array]:
        """Return all ids and packed codes; the codes may be a view until the next change."""
        if self.is_ivf:
            return _copy_lists(self.engine)
        return self.ids, _view_codes(self.storage)

    def find(self, ids: Ids) -> tuple[Ids, BoolArray]:
        """Return the positions of some ids in faiss's order, and which ids are present."""
        if not len(self.ids):
            return ids, np.zeros(len(ids), bool)
        found = np.searchsorted(self.ids, ids, sorter=self._order)
        positions = self._order[np.minimum(found, len(self.ids) - 1)]
        return positions, self.ids[positions] == ids

    def train(self, packed: UInt8Array) -> None:
        """Train an IVF on some codes."""
        # faiss prints a warning if a list has few codes.
        self.engine.cp.min_points_per_centroid = 1
        self.engine.train(packed)

    def add(self, packed: UInt8Array, ids: Ids) -> None:
        """Add codes whose ids are new."""
        self.index.add_with_ids(np.ascontiguousarray(packed), ids)
        self._clear_caches()

    def remove(self, ids: Ids) -> None:
        """Remove codes; HNSW and MultiHash, which cannot do this, are rebuilt."""
        if kind_of(self.engine) in ("IndexBinaryFlat", "IndexBinaryIVF"):
            self.index.remove_ids(ids)
        else:
            known, packed = self.content()
            is_kept = ~np.isin(known, ids)
            known, packed = known[is_kept], packed[is_kept]
            self.index.reset()
            if len(known):
                self.index.add_with_ids(packed, known)
        self._clear_caches()

    def _clear_caches(self) -> None:
        for name in ("ids", "_order"):
            self.__dict__.pop(name, None)


def kind_of(index: Any) -> str:
    """Return the name of an index's class."""
    return type(index).__name__


def _unwrap_id_map(index: Any) -> Any:
    """Return the index inside an IDMap; an index without an IDMap is returned as it is."""
    inner = getattr(index, "index", None)
    engine = index if inner is None else faiss.downcast_IndexBinary(inner)
    if kind_of(engine) not in _KINDS:
        _raise_unsupported(kind_of(engine))
    return engine


def _add_id_map(index: Any) -> Any:
    """Wrap an index that has no ids of its own in an IDMap; it may contain codes already."""
    if not isinstance(index, faiss.IndexBinary):
        _raise_unsupported(kind_of(index))
    index = faiss.downcast_IndexBinary(index)
    if kind_of(index) in _ID_MAPS:
        if kind_of(faiss.downcast_IndexBinary(index.index)) == "IndexBinaryIVF":
            _raise_unsupported("an IVF, which has ids of its own, in an IDMap")
        return index
    if kind_of(index) not in _KINDS:
        _raise_unsupported(kind_of(index))
    if kind_of(index) == "IndexBinaryIVF":
        return index
    # faiss only wraps empty indexes, so an empty one is wrapped and then replaced.
    empty = faiss.IndexBinaryFlat(index.d)
    id_map = faiss.IndexBinaryIDMap2(empty)
    id_map.index = index
    faiss.copy_array_to_vector(np.arange(index.ntotal), id_map.id_map)
    id_map.ntotal = index.ntotal
    id_map.construct_rev_map()
    return id_map


def _raise_unsupported(value: str) -> NoReturn:
    requirement = "a Flat, IVF, HNSW or MultiHash binary index of faiss"
    _validation.raise_invalid("index", "FaissStore", requirement, value)


def _view_codes(flat: Any) -> UInt8Array:
    """Return a view of the codes of a flat index."""
    if not flat.ntotal:
        return np.empty((0, flat.code_size), np.uint8)
    view: UInt8Array = faiss.rev_swig_ptr(flat.xb.data(), flat.ntotal * flat.code_size)
    return view.reshape(-1, flat.code_size)


def _copy_lists(ivf: Any) -> tuple[Ids, UInt8Array]:
    """Copy the ids and codes out of inverted lists."""
    lists, width = ivf.invlists, ivf.code_size
    ids, packed = [np.empty(0, np.int64)], [np.empty((0, width), np.uint8)]
    for number in range(ivf.nlist):
        size = lists.list_size(number)
        if size:
            ids.append(faiss.rev_swig_ptr(lists.get_ids(number), size).copy())
            codes = faiss.rev_swig_ptr(lists.get_codes(number), size * width)
            packed.append(codes.reshape(size, width).copy())
    return np.concatenate(ids), np.concatenate(packed)
