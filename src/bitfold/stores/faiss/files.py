"""Files of binary indexes: reading with checks that faiss leaves out, and atomic writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import faiss
import numpy as np

from bitfold._types import PathLike
from bitfold.errors import FormatError, MissingStoreError
from bitfold.io.atomic import replace_atomically
from bitfold.stores.faiss.binary_index import BinaryIndex, kind_of


def read_index(path: PathLike) -> Any:
    """Read a file that faiss wrote."""
    if not Path(path).exists():
        raise MissingStoreError(f"{path} does not exist.")
    try:
        index = faiss.read_index_binary(str(path))
        is_valid = is_consistent(index)
    except (RuntimeError, MemoryError, OverflowError):
        is_valid = False
    if not is_valid:
        raise FormatError(f"{path} is damaged, or not a faiss file of a binary index.")
    return index


def write_index(index: Any, path: PathLike) -> None:
    """Write a file that faiss can read; after an error the old file is unchanged."""
    failure: Exception = OSError(f"faiss could not write {path}.")
    with replace_atomically(path) as file:

        def write(data: bytes) -> int:
            nonlocal failure
            try:
                return file.write(data)
            except Exception as error:
                failure = error  # faiss replaces it by an error of its own
                raise

        untyped: Any = faiss  # its type stubs are incomplete
        try:
            faiss.write_index_binary(index, untyped.PyCallbackIOWriter(write))
        except Exception:
            raise failure from None


def is_consistent(index: Any) -> bool:
    """Return whether sizes and links match; faiss itself would read beyond its memory."""
    index = faiss.downcast_IndexBinary(index)
    binary = BinaryIndex(index)
    engine = binary.engine
    n_codes = engine.ntotal
    if engine.d <= 0 or n_codes < 0:
        return False
    if hasattr(index, "id_map") and not index.id_map.size() == n_codes == index.ntotal:
        return False
    if binary.is_ivf:
        return bool(sum(map(engine.invlists.list_size, range(engine.nlist))) == n_codes)
    storage = binary.storage
    sizes = (storage.ntotal, storage.d, storage.xb.size())
    return sizes == (n_codes, engine.d, n_codes * engine.code_size) and (
        kind_of(engine) != "IndexBinaryHNSW" or _has_valid_links(engine)
    )


def _has_valid_links(engine: Any) -> bool:
    graph, n_codes = engine.hnsw, engine.ntotal
    links, offsets = faiss.vector_to_array(graph.neighbors), faiss.vector_to_array(graph.offsets)
    offsets = offsets.astype(np.int64)
    return (
        bool(((links >= -1) & (links < n_codes)).all())
        and -1 <= graph.entry_point < n_codes
        and len(offsets) == n_codes + 1
        and bool((np.diff(offsets) >= 0).all())
        and int(offsets[-1]) == len(links)
    )
