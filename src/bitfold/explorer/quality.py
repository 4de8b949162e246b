"""What a model finds, next to exact neighbors and labels, as ``bitfold evaluate`` measures it."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from bitfold._threads import map_blocks
from bitfold._types import Float32Array, Int64Array
from bitfold.codes import Codes
from bitfold.datasets import draw_queries
from bitfold.evaluation import (
    ExactResult,
    References,
    TopQuality,
    Verdict,
    judge,
    make_baseline,
    measure_chance,
    measure_hits,
    measure_search,
)
from bitfold.evaluation.verdict import POOR_RECALL
from bitfold.explorer.item_vectors import ItemVectors
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import IndexedModel
from bitfold.hashers import Hasher
from bitfold.metrics import Relevance

N_QUERIES = 200
N_NEAREST = 10
N_CANDIDATES = 100

MAX_VALUES = 150_000_000
"""Numbers in the vectors that are searched; of larger collections, a sample is."""

MAX_BASELINE_ROWS = 20_000
"""Rows that the baseline learns from."""

_ROWS_PER_BLOCK = 1 << 14


class MeasuredQuality(NamedTuple):
    """The quality of the first hits of a model, and what it is compared with.

    ``exact``, ``baseline`` and ``recall`` values are unknown without vectors.
    """

    quality: TopQuality
    references: References
    verdict: Verdict
    n_queries: int
    n_items: int
    seconds: float


def measure_quality(model: IndexedModel, items: Items) -> MeasuredQuality | None:
    """Search for held-out items with the model and with the exact vectors.

    Parameters
    ----------
    model
        The model.
    items
        What is known about the items.

    Returns
    -------
    MeasuredQuality | None
        None if there are no vectors of the right width, or fewer than 20 items.
    """
    vectors = items.vectors
    has_vectors = vectors is not None and vectors.width == model.hasher.n_features_in_
    if vectors is None or not has_vectors or len(items) < 2 * N_NEAREST:
        return None
    began = time.perf_counter()
    rows, query_rows = _split(items, vectors)
    queries = vectors.take(query_rows)
    exact = _search_exact(vectors, rows, queries, _find_relevant(items, rows, query_rows))
    quality = _measure(model.hasher, model.codes(rows), queries, exact)
    simple = make_baseline(model.hasher)
    some = np.random.default_rng(0).permutation(rows)[:MAX_BASELINE_ROWS]
    simple.fit(vectors.take(np.sort(some)))
    baseline = _measure(simple, _encode(simple, vectors, rows), queries, exact)
    references = References(exact.quality, exact.chance, baseline, type(simple).__name__)
    return MeasuredQuality(
        quality,
        references,
        _judge(model, vectors, quality, references),
        len(queries),
        len(rows),
        time.perf_counter() - began,
    )


def _split(items: Items, vectors: ItemVectors) -> tuple[Int64Array, Int64Array]:
    """Return the rows that are searched and those that are queries, ascending."""
    n = len(items)
    n_queries = min(N_QUERIES, max(1, n // 10))
    rows, query_rows = draw_queries(n, n_queries, 0, "the explorer")
    labeled = query_rows[items.labels_of(query_rows) != UNLABELED]
    query_rows = labeled if len(labeled) else query_rows
    n_searched = max(1000, MAX_VALUES // vectors.width)
    return np.sort(rows[:n_searched]), np.sort(query_rows)


def _find_relevant(items: Items, rows: Int64Array, query_rows: Int64Array) -> Relevance | None:
    """Return which items have the label of each query; None without labels."""
    labels = items.labels_of(query_rows)
    if (labels == UNLABELED).any():
        return None
    return Relevance.from_labels(labels, items.labels_of(rows))


def _search_exact(
    vectors: ItemVectors, rows: Int64Array, queries: Float32Array, relevance: Relevance | None
) -> ExactResult:
    ids = _find_neighbors(vectors, rows, queries, min(N_CANDIDATES, len(rows)))
    quality = measure_hits(ids, ids, relevance)
    return ExactResult(ids, len(rows), relevance, quality, measure_chance(len(rows), relevance))


def _find_neighbors(
    vectors: ItemVectors, rows: Int64Array, queries: Float32Array, k: int
) -> Int64Array:
    """Return the positions in ``rows`` of the nearest vectors of each query, in blocks."""
    import faiss  # takes a while to import, and is needed only here

    targets = _scale(queries, vectors.metric)

    def work(first: int) -> tuple[Float32Array, Int64Array]:
        block = _scale(vectors.take(rows[first : first + _ROWS_PER_BLOCK]), vectors.metric)
        distances, ids = faiss.knn(targets, block, min(k, len(block)))
        return distances, ids + first

    parts = list(map_blocks(work, range(0, len(rows), _ROWS_PER_BLOCK)))
    distances, ids = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    nearest: Int64Array = np.take_along_axis(ids, order, axis=1)
    return nearest


def _scale(vectors: Float32Array, metric: str) -> Float32Array:
    """Return vectors whose Euclidean distances have the order of the metric."""
    if metric == "cosine":
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.ascontiguousarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
    return np.ascontiguousarray(vectors)


def _measure(hasher: Hasher, codes: Codes, queries: Float32Array, exact: ExactResult) -> TopQuality:
    # The mean average precision of the whole list is not shown, and would take longest.
    return measure_search(hasher, codes, queries, exact, known_map=0.0)


def _encode(hasher: Hasher, vectors: ItemVectors, rows: Int64Array) -> Codes:
    starts = range(0, len(rows), _ROWS_PER_BLOCK)
    blocks = (rows[start : start + _ROWS_PER_BLOCK] for start in starts)
    return Codes.concatenate([hasher.encode(vectors.take(block)) for block in blocks])


def _judge(
    model: IndexedModel, vectors: ItemVectors, quality: TopQuality, references: References
) -> Verdict:
    """Return the verdict of `bitfold evaluate`; codes that lose the neighbors are never good."""
    stored = vectors.kept.values.dtype if vectors.kept is not None else vectors.matrix.dtype
    compression = vectors.width * stored.itemsize / model.distinct.n_bytes
    method = type(model.hasher).__name__
    verdict = judge(quality, references, compression=compression, method=method)
    is_by_label = quality.precision_10 is not None
    if verdict.grade != "good" or not is_by_label or quality.recall_10 >= POOR_RECALL:
        return verdict
    found = (
        f"recall@10 is {quality.recall_10:.2f}, and {quality.recall_10_from_100:.2f} with 100 "
        f"candidates rescored"
    )
    if quality.recall_10_from_100 >= POOR_RECALL:
        advice = f"To find the exact neighbors, too, rescore candidates: {found}."
        return Verdict("good", f"{verdict.text} {advice}")
    exact = references.exact.precision_10 or 0.0
    text = (
        f"Fair: the first ten have the right label (P@10 {quality.precision_10 or 0:.2f} against "
        f"{exact:.2f} with the exact vectors), but few are the exact neighbors: {found}; use "
        f"DualHasher or more bits to find neighbors."
    )
    return Verdict("fair", text)
