"""A full-precision search, as the reference for codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import metrics
from bitfold._types import ProgressCallback, SignedIntArray
from bitfold.evaluation.top_quality import (
    N_CANDIDATES,
    TopQuality,
    measure_chance,
    measure_hits,
)
from bitfold.metrics import Relevance


@dataclass(frozen=True)
class ExactResult:
    """What a full-precision search finds: the reference for codes.

    Attributes
    ----------
    ids
        Up to 100 nearest items of each query, nearest first.
    n_items
        Number of items in the database.
    relevance
        Which items are relevant to which query; None without labels.
    quality, chance
        Quality of this search, and of a random order.

    Examples
    --------
    >>> search_exact([[0.0], [1.0], [5.0]], [[0.9]]).ids.tolist()
    [[1, 0, 2]]
    """

    ids: SignedIntArray
    n_items: int
    relevance: Relevance | None
    quality: TopQuality
    chance: TopQuality


def search_exact(
    database: Any,
    queries: Any,
    relevance: Relevance | None = None,
    *,
    rows: ArrayLike | None = None,
    metric: str = "l2",
    progress: ProgressCallback | None = None,
) -> ExactResult:
    """Search with the exact vectors, in blocks, and measure what they find.

    Parameters
    ----------
    database, queries
        Vectors, one per row; arrays or memory maps.
    relevance
        Which items are relevant to which query; without it, only recall is measured.
    rows
        Ascending numbers of the rows that form the database; None takes all. Ids are positions in
        ``rows``.
    metric
        "l2" or "cosine".
    progress
        Called with (stage, done, total).

    Returns
    -------
    The nearest items, and the quality of the search.

    Raises
    ------
    ParameterError
        If the widths differ, or ``rows`` or ``metric`` is not allowed.
    DataError
        If the vectors cannot be used, or ``relevance`` is for other numbers of rows.

    Examples
    --------
    >>> relevance = Relevance.from_labels([1], [0, 1, 1])
    >>> round(search_exact([[0.0], [1.0], [5.0]], [[0.9]], relevance).quality.map, 3)
    0.833
    """
    n_items = len(database if rows is None else np.asarray(rows))
    k = min(N_CANDIDATES, n_items)
    ids = metrics.closest_neighbors(
        database, queries, k=k, rows=rows, metric=metric, progress=progress
    )
    mean_precision = None
    if relevance is not None:
        histograms = metrics.vector_histograms(
            database, queries, relevance, rows=rows, metric=metric, progress=progress
        )
        mean_precision = float(metrics.average_precision(histograms).mean())
    quality = measure_hits(ids, ids, relevance, known_map=mean_precision)
    return ExactResult(ids, n_items, relevance, quality, measure_chance(n_items, relevance))
