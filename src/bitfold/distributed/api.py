"""The functions for Dask data: fit, encode, collect, search."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import dask.array as da
import numpy as np
from sklearn.utils.validation import check_is_fitted

from bitfold import _validation
from bitfold._types import ProgressCallback, UInt8Array
from bitfold.codes import Codes, count_bytes
from bitfold.distributed._dask_rows import DaskRows, report_global_rows
from bitfold.distributed._graph import compute_in_order, make_task, reduce_in_order, send, share
from bitfold.distributed._input import block_edges, check_vectors, list_blocks, with_known_rows
from bitfold.errors import DataError, ParameterTypeError
from bitfold.hashers import Hasher
from bitfold.search import HammingIndex, Hits, merge_hits

H = TypeVar("H", bound=Hasher)


def fit(hasher: H, X: Any, y: Any = None, *, progress: ProgressCallback | None = None) -> H:
    """Fit a hasher to vectors on a cluster.

    The model is the same as for the same rows in memory, bit for bit on processors of one kind.
    Steps that read all rows (the mean, covariances, the graph of a base set) run on the workers.
    Samples are fetched by the client, which does the work of the size of a base set or a covariance
    matrix. For a base set learned from all rows, use ``base=DaskKMeansBase(n_base_points)``.

    Parameters
    ----------
    hasher
        Any hasher; it is changed, as by its own ``fit``.
    X
        Training vectors: a Dask array or a column of a Dask DataFrame. They are read several
        times; ``X.persist()`` keeps them in the memory of the workers.
    y
        Labels, for the hashers that use them.
    progress
        Called with (stage, done, total).

    Returns
    -------
    The hasher itself.

    Raises
    ------
    ParameterError
        If a parameter of the hasher is not valid, or ``X`` is not Dask data.
    DataError
        If the vectors or labels cannot be used.

    Examples
    --------
    >>> import dask.array as da
    >>> from bitfold.hashers import ITQ
    >>> X = da.random.default_rng(0).random((1000, 32), chunks=(250, 32))
    >>> fit(ITQ(16, random_state=0), X).n_bits_
    16
    """
    owner = _check_hasher(hasher)
    array = with_known_rows(check_vectors(X, owner, min_rows=2))
    check_vectors(array, owner, min_rows=2)  # again, because the number of rows is known now
    on_rows = partial(progress, "mean") if progress else None
    rows = DaskRows.from_array(array, owner, normalize=hasher.normalize, on_rows=on_rows)
    if progress:
        rows = replace(rows, on_rows=partial(progress, "rows"))
    return hasher.fit_rows(rows, y, progress=progress)


def encode(hasher: Hasher, X: Any) -> da.Array:
    """Return the packed codes as a lazy Dask array, one block per block of vectors.

    The bytes are those of ``hasher.encode``. The model is one node of the graph, so each worker
    receives it once. :func:`collect` computes the codes and reports progress.

    Parameters
    ----------
    hasher
        A fitted hasher.
    X
        Vectors: a Dask array or a column of a Dask DataFrame.

    Returns
    -------
    Array of uint8, of shape (n, ceil(n_bits / 8)).

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the hasher is not fitted.
    ParameterError
        If ``X`` is not Dask data.
    DataError
        If the vectors have another number of features than the training vectors.

    Examples
    --------
    >>> import dask.array as da
    >>> from bitfold.hashers import ITQ
    >>> X = da.random.default_rng(0).random((1000, 32), chunks=(250, 32))
    >>> codes = encode(fit(ITQ(16, random_state=0), X), X)
    >>> codes.shape, codes.numblocks
    ((1000, 2), (4, 1))
    """
    owner = _check_hasher(hasher)
    check_is_fitted(hasher, "n_bits_")
    array = check_vectors(X, owner)
    if array.shape[1] != hasher.n_features_in_:
        raise DataError(
            f"X has {array.shape[1]} features, but {owner} is expecting "
            f"{hasher.n_features_in_} features as input."
        )
    return array.map_blocks(
        _encode_block,
        share(hasher, "model"),
        dtype=np.uint8,
        chunks=(array.chunks[0], (count_bytes(hasher.n_bits_),)),
        meta=np.empty((0, 0), np.uint8),
    )


def collect(
    codes: da.Array,
    n_bits: int,
    *,
    model_digest: str | None = None,
    progress: ProgressCallback | None = None,
) -> Codes:
    """Compute lazy codes and fetch them, block by block.

    Parameters
    ----------
    codes
        Packed codes, as returned by :func:`encode`.
    n_bits
        Length of the codes: ``hasher.n_bits_``.
    model_digest
        Digest of the model: ``hasher.model_digest``; None if it is unknown.
    progress
        Called with ("encode", done, total) after each block.

    Returns
    -------
    The codes in memory.

    Raises
    ------
    ParameterError
        If ``codes`` is not a Dask array of packed codes of this length.

    Examples
    --------
    >>> import dask.array as da
    >>> codes = da.from_array(np.array([[1], [3], [7]], np.uint8), chunks=(2, 1))
    >>> collect(codes, n_bits=8)
    Codes(3 x 8 bits)
    """
    _check_codes(codes, n_bits, "collect")
    codes = with_known_rows(codes)
    packed = np.empty(codes.shape, np.uint8)
    edges, blocks = block_edges(codes), compute_in_order(list_blocks(codes))
    for start, stop, block in zip(edges, edges[1:], blocks, strict=False):
        packed[start:stop] = block
        if progress:
            progress("encode", stop, len(packed))
    return Codes(packed, n_bits, model_digest)


def search(
    codes: da.Array, queries: Codes, k: int = 10, *, progress: ProgressCallback | None = None
) -> Hits:
    """Find the k nearest codes of each query, with the results of :class:`bitfold.HammingIndex`.

    Every block is searched on the worker that has it, and the results are merged on the workers.
    Ids are row numbers; ties go by id.

    Parameters
    ----------
    codes
        Packed codes, as returned by :func:`encode`. ``codes.persist()`` keeps them in the memory of
        the workers; otherwise they are computed again for every search.
    queries
        Query codes.
    k
        Number of codes per query, at least 1. All are returned if there are fewer.
    progress
        Called with ("search", done, total) after each block.

    Returns
    -------
    Ids and distances, one row per query.

    Raises
    ------
    ParameterError
        If ``codes`` is not a Dask array of packed codes as long as the queries, or ``k`` is not
        an integer of at least 1.

    Examples
    --------
    >>> import dask.array as da
    >>> codes = da.from_array(np.array([[1], [3], [7], [0]], np.uint8), chunks=(2, 1))
    >>> search(codes, Codes(np.array([[0]], np.uint8), 8), k=2).ids.tolist()
    [[3, 0]]
    """
    if not isinstance(queries, Codes):
        raise ParameterTypeError("queries", "search", "bitfold.Codes", type(queries).__name__)
    _check_codes(codes, queries.n_bits, "search")
    _validation.check_integer(k, "k", "search", low=1)
    codes = with_known_rows(codes)
    shared_queries, edges = send(queries, "queries"), block_edges(codes)
    tasks = [
        make_task(_search_block, block, shared_queries, k, first)
        for block, first, last in zip(list_blocks(codes), edges, edges[1:], strict=False)
        if first < last
    ]
    if not tasks:
        return HammingIndex(queries.n_bits).search(queries, k)
    on_step = partial(progress, "search") if progress else None
    hits: Hits = reduce_in_order(tasks, lambda *parts: merge_hits(parts, k), on_step)
    return hits


def _check_hasher(hasher: Any) -> str:
    """Return the class name of a hasher, for errors."""
    if not isinstance(hasher, Hasher):
        raise ParameterTypeError(
            "hasher", "bitfold.distributed", "a hasher of bitfold", type(hasher).__name__
        )
    return type(hasher).__name__


def _check_codes(codes: Any, n_bits: int, owner: str) -> None:
    if not isinstance(codes, da.Array):
        raise ParameterTypeError("codes", owner, "a Dask array", type(codes).__name__)
    width = count_bytes(_validation.check_integer(n_bits, "n_bits", owner, low=1))
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != width:
        value = f"{codes.dtype} of shape {codes.shape}"
        _validation.raise_invalid("codes", owner, f"uint8 of shape (n, {width})", value)


def _encode_block(block: Any, hasher: Hasher, block_info: Any = None) -> UInt8Array:
    matrix = np.asarray(block)
    if not len(matrix):
        return np.empty((0, count_bytes(hasher.n_bits_)), np.uint8)
    number = block_info[0]["chunk-location"][0]
    first_row, _ = block_info[0]["array-location"][0]
    # After a block of unknown length, row numbers are known only within the block.
    origin = (0, f"Block {number} of X") if np.isnan(first_row) else (int(first_row), "X")
    with report_global_rows(matrix, type(hasher).__name__, *origin):
        return hasher.encode(matrix).packed


def _search_block(block: Any, queries: Codes, k: int, first_id: int) -> Hits:
    packed = np.asarray(block)
    index = HammingIndex(queries.n_bits)
    ids = np.arange(first_id, first_id + len(packed))
    # Dask arrays have no digest; without one, codes are accepted for any queries.
    index.add(Codes(packed, queries.n_bits), ids=ids)
    return index.search(queries, k)
