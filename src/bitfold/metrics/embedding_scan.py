"""Histograms of asymmetric distances: what a search by the query's embedding ranks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._types import Float32Array, ProgressCallback
from bitfold.codes import Codes
from bitfold.metrics.histograms import DistanceHistograms
from bitfold.metrics.interval_counts import N_BINS, count_by_interval, items_per_block
from bitfold.metrics.relevance import Relevance


def embedding_histograms(
    query_embedding: ArrayLike,
    database: Codes,
    relevance: Relevance,
    *,
    progress: ProgressCallback | None = None,
) -> DistanceHistograms:
    """Count codes and relevant codes by their asymmetric distance from each query.

    The distance is that of a search with ``query_embedding``: the sum of the absolute values of
    the embedding over the bits in which a code differs from its signs. Distances are grouped into
    4,096 intervals per query, whose items count as tied.

    Parameters
    ----------
    query_embedding
        ``hasher.embed(Q)``, one row per query, one column per bit.
    database
        Codes of the same hasher.
    relevance
        Which codes are relevant to which query.
    progress
        Called with (stage, done, total), counting codes.

    Returns
    -------
    Counts, one row per query, one column per interval of distance, ascending.

    Raises
    ------
    ParameterError
        If the embedding does not have one column per bit.
    DataError
        If ``relevance`` is for other numbers of queries or codes.

    Examples
    --------
    >>> database = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    >>> relevance = Relevance.from_labels([1], [0, 1, 1])
    >>> found, relevant = embedding_histograms([[0.5, 2.0]], database, relevance)
    >>> found.nonzero()[1].tolist(), relevant.nonzero()[1].tolist()
    ([0, 819, 4095], [0, 819])
    """
    embedding = _check_embedding(query_embedding, database.n_bits)
    relevance.check_sizes(len(embedding), len(database))
    blocks = _measure_blocks(embedding, database)
    with show_progress(progress) as report:
        on_step = partial(report, "asymmetric ranking")
        return count_by_interval(blocks, relevance, (len(embedding), len(database)), on_step)


def _measure_blocks(embedding: Float32Array, database: Codes) -> Iterator[Float32Array]:
    """Yield the distances of the queries to blocks of codes, in units of an interval."""
    totals = np.abs(embedding).sum(axis=1, keepdims=True)
    scales = np.float32(N_BINS / 2) / np.where(totals > 0, totals, 1)
    step = items_per_block(len(embedding), database.n_bits)
    for first in range(0, len(database), step):
        signs = database[first : first + step].unpack().astype(np.float32) * 2 - 1
        # Half of (total - dot product) is the sum over the bits that differ.
        yield np.maximum(totals - embedding @ signs.T, 0) * scales


def _check_embedding(query_embedding: ArrayLike, n_bits: int) -> Float32Array:
    """Return the embedding as float32."""
    embedding = np.asarray(query_embedding, np.float32)
    if embedding.ndim != 2 or embedding.shape[1] != n_bits:
        requirement = f"a matrix with one column per bit, {n_bits} in total"
        value = f"shape {embedding.shape}"
        _validation.raise_invalid("query_embedding", "embedding_histograms", requirement, value)
    return embedding
