"""Quality of a ranking: average precision, precision, and recall of the exact neighbors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bitfold import Codes, HammingIndex, metrics
from bitfold.datasets import Dataset
from bitfold.metrics import Relevance
from reproduction.shared_types import AnyArray, BoolArray, Float64Array, Int64Array, Result

N_NEIGHBORS = 10
"""Number of exact neighbors that recall is measured by."""

CANDIDATES = (40, 100)
"""Numbers of candidates that are rescored by the exact vectors."""

CUTOFFS = (10, 100)
"""Numbers of first results at which precision is measured."""

_QUERIES_PER_BLOCK = 50

Distances = Callable[[slice], AnyArray]
"""Returns the distances of some queries to all rows, one row per query."""


@dataclass(frozen=True)
class JudgedQueries:
    """Queries and the right answers.

    Attributes
    ----------
    vectors, labels
        The queries.
    item_labels
        Labels of the database; items with the label of a query are relevant to it.
    neighbors
        Ids of the exact neighbors of each query.
    """

    vectors: AnyArray
    labels: AnyArray
    item_labels: AnyArray
    neighbors: AnyArray

    def find_relevant(self, part: slice, ids: AnyArray) -> BoolArray:
        """Return which of the ids in each row are relevant to the queries in ``part``."""
        return np.asarray(self.item_labels[ids] == self.labels[part, None])


def hold_out(data: Dataset) -> JudgedQueries:
    """Return the second half of the queries; the first is for tuning."""
    return judge_queries(data, slice(len(data.queries) // 2, None))


def judge_queries(data: Dataset, part: slice) -> JudgedQueries:
    """Return some of the queries with their right answers; without labels, all labels are 0."""
    queries, n_items = data.queries[part], len(data.database)
    neighbors = metrics.closest_neighbors(data.database, queries, k=N_NEIGHBORS)
    if data.labels is None or data.query_labels is None:
        return JudgedQueries(queries, np.zeros(len(queries)), np.zeros(n_items), neighbors)
    return JudgedQueries(queries, data.query_labels[part], data.labels, neighbors)


def measure_distances(distances: Distances, queries: JudgedQueries) -> Result:
    """Measure a ranking by real distances, ties by id; values are in percent."""
    precisions, relevant, found = [], [], []
    for start in range(0, len(queries.vectors), _QUERIES_PER_BLOCK):
        part = slice(start, start + _QUERIES_PER_BLOCK)
        order = np.argsort(distances(part), axis=1, kind="stable")
        hits = queries.find_relevant(part, order)
        precisions.append(average_precision(hits))
        relevant.append(hits[:, : max(CUTOFFS)])
        found.append(order[:, : max(CANDIDATES)])
    first = np.concatenate(relevant)
    return {
        "map": 100 * float(np.concatenate(precisions).mean()),
        **{f"precision_{n}": 100 * float(first[:, :n].mean()) for n in CUTOFFS},
        **measure_recall(np.concatenate(found), queries),
    }


def average_precision(relevant: BoolArray) -> Float64Array:
    """Return the average precision of rankings without ties; 0 without relevant items."""
    n_hits = np.cumsum(relevant, axis=1)
    precision = n_hits / np.arange(1, relevant.shape[1] + 1)
    return np.asarray((precision * relevant).sum(axis=1) / np.maximum(n_hits[:, -1], 1))


def measure_hamming(
    query_codes: Codes, codes: Codes, index: HammingIndex, queries: JudgedQueries
) -> Result:
    """Measure a ranking by Hamming distance; values are in percent.

    MAP, precision and the lookup within radius 2 are means over all orders of ties; recall is that
    of a search, whose ties go by id.
    """
    relevance = Relevance.from_labels(queries.labels, queries.item_labels)
    histograms = metrics.distance_histograms(query_codes, codes, relevance)
    curves = metrics.ranking_curves(histograms, CUTOFFS)
    lookup = metrics.lookup(histograms, 2)
    means = curves.precision.mean(axis=0)
    return {
        "map": 100 * float(metrics.average_precision(histograms).mean()),
        **{f"precision_{n}": 100 * float(p) for n, p in zip(CUTOFFS, means, strict=True)},
        **measure_recall(index.search(query_codes, max(CANDIDATES)).ids, queries),
        "lookup_precision": 100 * lookup.precision,
        "lookup_recall": 100 * lookup.recall,
        "f1": lookup.f1,
        "n_distinct": index.n_distinct,
    }


def measure_recall(found: Int64Array, queries: JudgedQueries) -> Result:
    """Return recall of the exact neighbors before and after rescoring, in percent.

    Rescoring by the exact vectors puts those of the exact neighbors first that are among the
    candidates, so that recall is their share.
    """
    is_found = [np.isin(near, ids) for near, ids in _pair(queries.neighbors, found, N_NEIGHBORS)]
    recall = {"recall_10": 100 * float(np.mean(is_found))}
    for n in CANDIDATES:
        shares = [np.isin(near, ids).mean() for near, ids in _pair(queries.neighbors, found, n)]
        recall[f"rescored_{n}"] = 100 * float(np.mean(shares))
    return recall


def _pair(neighbors: AnyArray, found: AnyArray, n: int) -> zip[tuple[AnyArray, AnyArray]]:
    return zip(neighbors, found[:, :n], strict=True)
