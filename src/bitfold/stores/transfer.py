"""Copy an index to a store and back, one batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._types import Float32Array, Ids, ProgressCallback
from bitfold.errors import DataError
from bitfold.search import Batch, CodeIndex, HammingIndex


def iter_batches(index: CodeIndex, vectors: Any = None) -> Iterator[Batch]:
    """Iterate over an index together with its vectors, for :meth:`Store.add_batches`.

    Without vectors, ``index.batches()`` gives the same.

    Parameters
    ----------
    index
        An index or a store.
    vectors
        The vectors to store, an array or a memory map; row i belongs to id i.

    Yields
    ------
    Batch
        Ids, codes and vectors.

    Raises
    ------
    DataError
        If an id has no row in ``vectors``.

    Examples
    --------
    >>> import numpy as np
    >>> from bitfold import Codes
    >>> from bitfold.stores import FaissStore
    >>> index = HammingIndex(n_bits=8)
    >>> index.add(Codes.from_bits(np.eye(8, dtype=np.uint8)))
    >>> store = FaissStore.create(n_bits=8)
    >>> store.add_batches(iter_batches(index))
    >>> to_index(store)
    HammingIndex(8 x 8 bits)
    """
    if vectors is None:
        yield from index.batches()
        return
    matrix = _validation.check_matrix(vectors, "iter_batches", name="vectors")
    for batch in index.batches():
        yield batch._replace(vectors=take_vectors(matrix, batch.ids))


def to_index(store: CodeIndex, progress: ProgressCallback | None = None) -> HammingIndex:
    """Read a store into an index.

    Parameters
    ----------
    store
        Any store.
    progress
        Called with (stage, done, total) after each batch.

    Returns
    -------
    HammingIndex
        An index in memory with the same ids and codes.

    Examples
    --------
    >>> from bitfold import Codes
    >>> from bitfold.stores import FaissStore
    >>> store = FaissStore.create(n_bits=3)
    >>> store.add(Codes.from_bits([[0, 0, 1], [1, 1, 1]]))
    >>> to_index(store)
    HammingIndex(2 x 3 bits)
    """
    index, total = HammingIndex(store.n_bits), len(store)
    with show_progress(progress) as report:
        for batch in store.batches():
            index.add(batch.codes, ids=batch.ids)
            report("reading", len(index), total)
    return index


def take_vectors(vectors: Any, ids: Ids) -> Float32Array:
    """Return the rows of ``vectors`` that belong to some ids; row i belongs to id i."""
    missing = ids[(ids < 0) | (ids >= len(vectors))]
    if len(missing):
        raise DataError(
            f"vectors must have a row for every id; id {missing[0]} is outside "
            f"the {len(vectors)} rows."
        )
    rows: Float32Array = vectors[ids]
    return rows
