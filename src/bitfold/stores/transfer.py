"""From an index to a store and back, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bitfold import _validation
from bitfold._types import ProgressCallback
from bitfold.search import HammingIndex
from bitfold.stores.contract import Batch, Store


def iter_batches(index: HammingIndex, vectors: Any = None) -> Iterator[Batch]:
    """Read an index as batches, which :meth:`Store.load` takes.

    Parameters
    ----------
    index
        In memory or on disk, where it is mapped.
    vectors
        The originals to go with the codes, an array or a memory map, row i of id i.

    Examples
    --------
    >>> import numpy as np
    >>> from bitfold import Codes
    >>> from bitfold.stores import FaissStore
    >>> index = HammingIndex(n_bits=8)
    >>> index.add(Codes.from_bits(np.eye(8, dtype=np.uint8)))
    >>> store = FaissStore.create(n_bits=8)
    >>> store.load(iter_batches(index))
    >>> to_index(store)
    HammingIndex(8 x 8 bits)
    """
    originals = (
        None if vectors is None else _validation.check_matrix(vectors, "push", name="vectors")
    )
    for ids, codes, *_ in index.batches():
        yield Batch(codes, ids, None if originals is None else _rows(originals, ids))


def to_index(store: Store, progress: ProgressCallback | None = None) -> HammingIndex:
    """Read a store into an index.

    Parameters
    ----------
    store
        Any store.
    progress
        Called with (stage, done, total) as the work goes on.
    """
    index, total = HammingIndex(store.n_bits), store.count()
    for batch in store.batches():
        index.add(batch.codes, ids=batch.ids)
        if progress:
            progress("reading", len(index), total)
    return index


def _rows(originals: Any, ids: Any) -> Any:
    missing = ids[(ids < 0) | (ids >= len(originals))]
    if len(missing):
        demand = f"complete: a row for id {missing[0]}"
        _validation.raise_invalid("vectors", "push", demand, f"{len(originals)} rows without it")
    return originals[ids]
