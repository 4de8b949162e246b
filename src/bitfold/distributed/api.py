"""The verbs: fit, encode, collect, search."""

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
from bitfold.distributed._graph import call, in_order, reduce, sent, shared
from bitfold.distributed._rows import DaskRows, naming_rows
from bitfold.distributed._vectors import blocks, known, starts, vectors
from bitfold.hashers import Hasher
from bitfold.search import HammingIndex, Hits, merge_hits

H = TypeVar("H", bound=Hasher)


def fit(hasher: H, X: Any, y: Any = None, *, progress: ProgressCallback | None = None) -> H:
    """Learn the codes from vectors on a cluster; return the hasher, fitted.

    Every hasher learns what it would from the same rows in memory, bit for bit on processors of
    one kind. What looks at all rows (the mean, covariances, the graph of a base set) does so on the
    workers. Samples travel to the client, which works out what has the size of a base set or a
    covariance. For a base set from all rows, give it ``base=DaskKMeansBase(m)``.

    Parameters
    ----------
    hasher
        Any hasher of bitfold; it is changed, as by its own ``fit``.
    X
        Training vectors: a Dask array or a column of a Dask DataFrame. Rows are read several
        times; ``X.persist()`` beforehand keeps them in the workers' memory.
    y
        Labels, for the hashers that use them.
    progress
        Called with (stage, done, total) as the work goes on.

    Examples
    --------
    >>> import dask.array as da
    >>> from bitfold.hashers import ITQ
    >>> X = da.random.default_rng(0).random((1000, 32), chunks=(250, 32))
    >>> fit(ITQ(16, random_state=0), X).n_bits_
    16
    """
    owner = _owner(hasher)
    array = known(vectors(X, owner, min_rows=2))
    vectors(array, owner, min_rows=2)  # now that the rows are counted
    rows = DaskRows.of(array, owner, partial(progress, "mean") if progress else None)
    if progress:
        rows = replace(rows, on_rows=partial(progress, "rows"))
    return hasher.fit_rows(rows, y, progress=progress)


def encode(hasher: Hasher, X: Any) -> da.Array:
    """Return the packed codes as a lazy Dask array, block by block, (n, ceil(n_bits / 8)) uint8.

    They are the bytes that ``hasher.encode`` gives. The model is one node of the graph, so each
    worker is sent it once. :func:`collect` fetches the codes, and can tell how far it is.

    Parameters
    ----------
    hasher
        A fitted hasher.
    X
        Vectors: a Dask array or a column of a Dask DataFrame.

    Examples
    --------
    >>> import dask.array as da
    >>> from bitfold.hashers import ITQ
    >>> X = da.random.default_rng(0).random((1000, 32), chunks=(250, 32))
    >>> codes = encode(fit(ITQ(16, random_state=0), X), X)
    >>> codes.shape, codes.numblocks
    ((1000, 2), (4, 1))
    """
    owner = _owner(hasher)
    check_is_fitted(hasher, "n_bits_")
    array = vectors(X, owner)
    if array.shape[1] != hasher.n_features_in_:
        raise ValueError(
            f"X has {array.shape[1]} features, but {owner} is expecting "
            f"{hasher.n_features_in_} features as input."
        )
    return array.map_blocks(
        _packed,
        shared(hasher, "model"),
        dtype=np.uint8,
        chunks=(array.chunks[0], (count_bytes(hasher.n_bits_),)),
        meta=np.empty((0, 0), np.uint8),
    )


def collect(codes: da.Array, n_bits: int, *, progress: ProgressCallback | None = None) -> Codes:
    """Compute lazy codes and fetch them, block by block.

    Parameters
    ----------
    codes
        Packed codes, as :func:`encode` gives them.
    n_bits
        Length of a code: the hasher's ``n_bits_``.
    progress
        Called with ("encode", done, total) as blocks arrive.
    """
    _check_codes(codes, n_bits, "collect")
    codes = known(codes)
    out = np.empty(codes.shape, np.uint8)
    edges = starts(codes)
    for start, stop, part in zip(edges, edges[1:], in_order(blocks(codes)), strict=False):
        out[start:stop] = part
        if progress:
            progress("encode", stop, len(out))
    return Codes(out, n_bits)


def search(
    codes: da.Array, queries: Codes, k: int = 10, *, progress: ProgressCallback | None = None
) -> Hits:
    """Find the k nearest codes of each query, exactly as :class:`bitfold.HammingIndex` would.

    Every block is searched where it is, and the lists are merged on the workers. Ids are row
    numbers; ties are by id.

    Parameters
    ----------
    codes
        Packed codes, as :func:`encode` gives them; ``codes.persist()`` beforehand keeps them in
        the workers' memory, else they are computed again for every search.
    queries
        Query codes.
    k
        How many, at most the number of codes.
    progress
        Called with ("search", done, total) as blocks are done.

    Examples
    --------
    >>> import dask.array as da
    >>> codes = da.from_array(np.array([[1], [3], [7], [0]], np.uint8), chunks=(2, 1))
    >>> search(codes, Codes(np.array([[0]], np.uint8), 8), k=2).ids.tolist()
    [[3, 0]]
    """
    if not isinstance(queries, Codes):
        raise TypeError(f"queries must be bitfold.Codes, got {type(queries).__name__}.")
    _check_codes(codes, queries.n_bits, "search")
    codes = known(codes)
    n = codes.shape[0]
    _validation.check_integer(k, "k", "search", low=1, high=n, why=f"the {n} codes")
    asked, edges = sent(queries, "queries"), starts(codes)
    hits: Hits = reduce(
        [
            call(_nearest, block, asked, k, first)
            for block, first, last in zip(blocks(codes), edges, edges[1:], strict=False)
            if first < last
        ],
        partial(_merge, k),
        partial(progress, "search") if progress else None,
    )
    return hits


def _owner(hasher: Any) -> str:
    if not isinstance(hasher, Hasher):
        raise TypeError(f"hasher must be a hasher of bitfold, got {type(hasher).__name__}.")
    return type(hasher).__name__


def _check_codes(codes: Any, n_bits: int, owner: str) -> None:
    if not isinstance(codes, da.Array):
        raise TypeError(f"codes of {owner} must be a Dask array, got {type(codes).__name__}.")
    width = count_bytes(_validation.check_integer(n_bits, "n_bits", owner, low=1))
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != width:
        came = f"{codes.dtype} of shape {codes.shape}"
        _validation.raise_invalid("codes", owner, f"uint8 of shape (n, {width})", came)


def _packed(block: Any, hasher: Hasher, block_info: Any = None) -> UInt8Array:
    """Encode one block."""
    matrix = np.asarray(block)
    if not len(matrix):
        return np.empty((0, count_bytes(hasher.n_bits_)), np.uint8)
    number = block_info[0]["chunk-location"][0]
    first_row, _ = block_info[0]["array-location"][0]
    # After a block of unknown length rows have no number in the whole.
    where = (0, f"Block {number} of X") if np.isnan(first_row) else (int(first_row), "X")
    with naming_rows(matrix, type(hasher).__name__, *where):
        return hasher.encode(matrix).packed


def _nearest(block: Any, queries: Codes, k: int, first_id: int) -> Hits:
    """Search one block."""
    codes = Codes(np.asarray(block), queries.n_bits)
    index = HammingIndex(queries.n_bits)
    index.add(codes, ids=np.arange(first_id, first_id + len(codes)))
    return index.search(queries, k)


def _merge(k: int, *parts: Hits) -> Hits:
    return merge_hits(parts, k)
