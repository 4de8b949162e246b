"""Binary indexes of faiss: what is in them, and whether their parts fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from bitfold import _validation
from bitfold._types import Ids, UInt8Array

_KINDS = ("IndexBinaryFlat", "IndexBinaryIVF", "IndexBinaryHNSW", "IndexBinaryMultiHash")


def library() -> Any:
    """Import faiss, when it is needed: that takes a while."""
    import faiss

    return faiss


class Remembering:
    """Writes, and remembers what went wrong: through faiss an exception loses its words."""

    def __init__(self, write: Callable[[bytes], int]) -> None:
        self._write = write
        self.problem: Exception | None = None

    def __call__(self, data: bytes) -> int:
        try:
            return self._write(data)
        except Exception as error:
            self.problem = error
            raise


def kind_of(engine: Any) -> str:
    """Return the name of an index's class."""
    return type(engine).__name__


def engine_of(index: Any) -> Any:
    """Return the index inside an IDMap, or the IVF that needs none."""
    faiss = library()
    inner = getattr(index, "index", None)
    engine = index if inner is None else faiss.downcast_IndexBinary(inner)
    if kind_of(engine) not in _KINDS:
        _refuse_index(kind_of(engine))
    return engine


def with_ids(index: Any) -> Any:
    """Wrap an index without ids of its own, which may have codes already, in an IDMap."""
    faiss = library()
    if not isinstance(index, faiss.IndexBinary):
        _refuse_index(type(index).__name__)
    index = faiss.downcast_IndexBinary(index)
    if kind_of(index) in ("IndexBinaryIDMap", "IndexBinaryIDMap2"):
        if kind_of(faiss.downcast_IndexBinary(index.index)) == "IndexBinaryIVF":
            _refuse_index("an IVF, which has ids itself, in an IDMap")
        return index
    if kind_of(index) == "IndexBinaryIVF":
        return index
    if kind_of(index) not in _KINDS:
        _refuse_index(kind_of(index))
    # faiss wraps empty indexes only, so an empty one is put in and exchanged.
    empty = faiss.IndexBinaryFlat(index.d)
    mapped = faiss.IndexBinaryIDMap2(empty)
    mapped.index = index
    faiss.copy_array_to_vector(np.arange(index.ntotal), mapped.id_map)
    mapped.ntotal = index.ntotal
    mapped.construct_rev_map()
    return mapped


def _refuse_index(came: str) -> NoReturn:
    demand = "a Flat, IVF, HNSW or MultiHash binary index of faiss"
    _validation.raise_invalid("index", "FaissStore", demand, came)


def storage_of(engine: Any) -> Any:
    """Return the flat index that has the codes of a Flat, HNSW or MultiHash index."""
    faiss = library()
    flat_index = engine if kind_of(engine) == "IndexBinaryFlat" else engine.storage
    return faiss.downcast_IndexBinary(flat_index)


def flat_codes(index: Any) -> UInt8Array:
    """Return the codes of a flat index: a view that holds until the index changes."""
    faiss = library()
    if not index.ntotal:
        return np.empty((0, index.code_size), np.uint8)
    size = index.ntotal * index.code_size
    view: UInt8Array = faiss.rev_swig_ptr(index.xb.data(), size).reshape(-1, index.code_size)
    return view


def listed(ivf: Any) -> tuple[Ids, UInt8Array]:
    """Copy the ids and codes out of inverted lists."""
    faiss = library()
    lists, width = ivf.invlists, ivf.code_size
    ids, packed = [np.empty(0, np.int64)], [np.empty((0, width), np.uint8)]
    for number in range(ivf.nlist):
        size = lists.list_size(number)
        if size:
            ids.append(faiss.rev_swig_ptr(lists.get_ids(number), size).copy())
            codes = faiss.rev_swig_ptr(lists.get_codes(number), size * width)
            packed.append(codes.reshape(size, width).copy())
    return np.concatenate(ids), np.concatenate(packed)


def check_sound(index: Any) -> None:
    """Raise if the parts of an index that was read do not fit: faiss would read beyond them."""
    faiss = library()
    index = faiss.downcast_IndexBinary(index)
    engine = engine_of(with_ids(index))
    sound = engine.d > 0 and engine.ntotal >= 0
    if hasattr(index, "id_map"):
        sound = sound and index.id_map.size() == engine.ntotal == index.ntotal
    if kind_of(engine) == "IndexBinaryIVF":
        sizes = [engine.invlists.list_size(number) for number in range(engine.nlist)]
        sound = sound and sum(sizes) == engine.ntotal
    else:
        storage = storage_of(engine)
        sound = sound and storage.ntotal == engine.ntotal and storage.d == engine.d
        sound = sound and storage.xb.size() == engine.ntotal * engine.code_size
    if not sound or (kind_of(engine) == "IndexBinaryHNSW" and not _links_fit(engine)):
        raise RuntimeError("parts that do not fit")


def _links_fit(engine: Any) -> bool:
    faiss = library()
    graph, n = engine.hnsw, engine.ntotal
    links, offsets = faiss.vector_to_array(graph.neighbors), faiss.vector_to_array(graph.offsets)
    inside = bool(((links >= -1) & (links < n)).all()) and -1 <= graph.entry_point < n
    spans = len(offsets) == n + 1 and bool((np.diff(offsets.astype(np.int64)) >= 0).all())
    return inside and spans and int(offsets[-1]) == len(links)
