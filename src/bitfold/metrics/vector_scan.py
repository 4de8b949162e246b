"""Histograms of exact distances between vectors: what a full-precision search ranks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold._progress import show_progress
from bitfold._types import Float32Array, ProgressCallback
from bitfold.metrics.ground_truth import open_pair
from bitfold.metrics.histograms import DistanceHistograms
from bitfold.metrics.interval_counts import N_BINS, count_by_interval, items_per_block
from bitfold.metrics.relevance import Relevance
from bitfold.metrics.vector_blocks import VectorBlocks

_N_SAMPLED_ROWS = 1000
"""Rows whose distances determine the intervals."""

_FAR_QUANTILE = 0.99
"""Items farther than this share of the sample are counted together in the last interval."""


def vector_histograms(
    database: Any,
    queries: Any,
    relevance: Relevance,
    *,
    rows: ArrayLike | None = None,
    metric: str = "l2",
    progress: ProgressCallback | None = None,
) -> DistanceHistograms:
    """Count rows and relevant rows by their exact distance from each query.

    Distances are grouped into 4,096 intervals per query, whose items count as tied. The database
    is read once, in blocks, so memory does not grow with it. Average precision from these
    histograms differs from that of a sorted list by less than 0.001.

    Parameters
    ----------
    database, queries
        Vectors, one per row; arrays or memory maps.
    relevance
        Which rows are relevant to which query.
    rows
        Ascending numbers of the rows that are searched; None searches all. The ids of
        ``relevance`` are positions in ``rows``.
    metric
        "l2" or "cosine".
    progress
        Called with (stage, done, total), counting rows.

    Returns
    -------
    Counts, one row per query, one column per interval of distance, ascending.

    Raises
    ------
    ParameterError
        If the widths differ, or ``rows`` or ``metric`` is not allowed.
    DataError
        If a value is not finite, or ``relevance`` is for other numbers of queries or rows.

    Examples
    --------
    >>> relevance = Relevance.from_labels([1], [1, 0, 1, 0])
    >>> found, relevant = vector_histograms([[0.0], [5.0], [1.0], [9.0]], [[0.2]], relevance)
    >>> found.sum(), relevant.sum()
    (np.int64(4), np.int64(2))
    """
    X, Q = open_pair(database, queries, "vector_histograms", metric, rows)
    relevance.check_sizes(len(Q), len(X))
    blocks = _measure_blocks(X, Q.centered(0, len(Q)))
    with show_progress(progress) as report:
        on_step = partial(report, "exact ranking")
        return count_by_interval(blocks, relevance, (len(Q), len(X)), on_step)


def _measure_blocks(X: VectorBlocks, queries: Float32Array) -> Iterator[Float32Array]:
    """Yield the distances of the queries to blocks of rows, in units of an interval."""
    import faiss  # takes long to import

    scales = np.float32(N_BINS) / _find_far_distances(X, queries)
    for _, block in X.blocks(items_per_block(len(queries), X.n_features)):
        distances = np.sqrt(np.maximum(faiss.pairwise_distances(queries, block), 0))
        yield distances * scales[:, None]


def _find_far_distances(X: VectorBlocks, queries: Float32Array) -> Float32Array:
    """Return a distance per query that few items exceed."""
    import faiss

    step = max(1, len(X) // _N_SAMPLED_ROWS)
    sample = np.concatenate([X.centered(i, i + 1) for i in range(0, len(X), step)])
    sq_distances = np.maximum(faiss.pairwise_distances(queries, sample), 0)
    far: Float32Array = np.sqrt(np.quantile(sq_distances, _FAR_QUANTILE, axis=1)).astype(np.float32)
    far[far == 0] = 1
    return far
