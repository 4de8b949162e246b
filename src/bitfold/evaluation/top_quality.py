"""Quality of the first hits of a search, in the order in which it returns them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import metrics
from bitfold.metrics import DistanceHistograms, Relevance

N_NEAREST = 10
"""Number of exact neighbors that a search should find."""

N_CANDIDATES = 100
"""Largest number of hits that are measured."""


@dataclass(frozen=True)
class TopQuality:
    """Quality of the first hits of a search; means over the queries, between 0 and 1.

    Hits are in the order in which the search returns them: ties go by id.

    Attributes
    ----------
    recall_10
        Share of the ten exact neighbors that are among the first ten hits.
    recall_10_from_40, recall_10_from_100
        The same after rescoring the first 40 or 100 hits by their exact distances.
    precision_10, precision_100
        Share of relevant items among the first 10 and 100 hits; None without labels.
    map
        Mean average precision of the whole list, as the mean over all orders of ties; None if
        nothing says what is relevant.
    tied
        Share of queries whose first ten hits are all at one distance; None if it does not apply.
    n_distinct
        Number of distinct codes in the database; None if it does not apply.

    Examples
    --------
    >>> round(measure_hits([[3, 1, 7]], [[1, 3, 2]]).recall_10, 2)
    0.67
    """

    recall_10: float
    recall_10_from_40: float
    recall_10_from_100: float
    precision_10: float | None = None
    precision_100: float | None = None
    map: float | None = None
    tied: float | None = None
    n_distinct: int | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the values by name, for JSON.

        Returns
        -------
        A dictionary of numbers and None.
        """
        return asdict(self)


def measure_hits(
    found_ids: ArrayLike,
    true_ids: ArrayLike,
    relevance: Relevance | None = None,
    *,
    known_map: float | None = None,
    tied: float | None = None,
    n_distinct: int | None = None,
) -> TopQuality:
    """Measure the hits of any search against exact neighbors and labels.

    Parameters
    ----------
    found_ids
        Ids that a search found, nearest first, one row per query; 100 or more columns, or all
        items of a smaller database.
    true_ids
        Ids of the exact neighbors, nearest first.
    relevance
        Which items are relevant to which query.
    known_map, tied, n_distinct
        Measures that need more than the hits, to be passed on.

    Returns
    -------
    The quality of the hits.

    Raises
    ------
    ParameterError
        If the ids are not integer matrices with one row per query.

    Examples
    --------
    >>> measure_hits([[3, 1, 7]], [[1, 2, 3]], Relevance.from_neighbors([[1, 7]])).precision_10
    0.6666666666666666
    """

    def recall(n_candidates: int) -> float:
        found = metrics.recall_at_k(found_ids, true_ids, N_NEAREST, n_candidates=n_candidates)
        return float(found.mean())

    def precision(k: int) -> float | None:
        if relevance is None:
            return None
        return float(metrics.precision_at_k(found_ids, relevance, k).mean())

    return TopQuality(
        recall(N_NEAREST),
        recall(40),
        recall(100),
        precision(10),
        precision(100),
        known_map,
        tied,
        n_distinct,
    )


def measure_chance(n_items: int, relevance: Relevance | None = None) -> TopQuality:
    """Return the quality that a random order of the database is expected to have.

    Parameters
    ----------
    n_items
        Number of items in the database.
    relevance
        Which items are relevant to which query.

    Returns
    -------
    Expected values over all orders.

    Examples
    --------
    >>> measure_chance(200, Relevance.from_labels([1], [1] * 50 + [0] * 150)).precision_10
    0.25
    """
    first, from_40, from_100 = (min(1.0, n / n_items) for n in (N_NEAREST, 40, 100))
    if relevance is None:
        return TopQuality(first, from_40, from_100)
    n_relevant = np.zeros((len(relevance.group_of), 1), np.int64)
    for queries, items in relevance.groups(len(n_relevant)):
        n_relevant[queries] = len(items)
    # A random order is one tie of all items.
    histograms = DistanceHistograms(np.full_like(n_relevant, n_items), n_relevant)
    share = float(n_relevant.mean() / n_items)
    mean_precision = float(metrics.average_precision(histograms).mean())
    return TopQuality(first, from_40, from_100, share, share, mean_precision)
