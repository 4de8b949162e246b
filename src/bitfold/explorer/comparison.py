"""Two models side by side: the items for which they find the most different neighbors."""

from __future__ import annotations

import numpy as np

from bitfold._types import Int64Array
from bitfold.explorer.code_search import BucketGroup, CodeQuery, align_signs
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.model_view import ModelView
from bitfold.explorer.statistics_schemas import (
    ComparisonOut,
    DifferingQuery,
    ModelScore,
    QueryScore,
)

N_QUERIES = 200
N_NEAREST = 10

MAX_EXACT_VALUES = 20_000_000
"""Numbers in all vectors up to which the exact neighbors of every query are found, too."""


def compare_models(first: ModelView, second: ModelView, items: Items, limit: int) -> ComparisonOut:
    """Find the items whose nearest items differ most between two models.

    Parameters
    ----------
    first, second
        The models.
    items
        What is known about the items.
    limit
        Number of items to return.

    Returns
    -------
    ComparisonOut
        Items with the fewest common results first, and means over all queries.
    """
    rows = np.sort(np.random.default_rng(2).permutation(len(items))[:N_QUERIES])
    views = (first, second)
    found = [[_search(view, items, row) for row in rows.tolist()] for view in views]
    exact = _find_exact(items, rows)
    common = [len(np.intersect1d(_join(a), _join(b))) for a, b in zip(*found, strict=True)]
    scores = [
        [_score(view, items, row, each[i], exact[i]) for i, row in enumerate(rows.tolist())]
        for view, each in zip(views, found, strict=True)
    ]
    order = np.argsort(common, kind="stable")[:limit].tolist()
    described = items.describe(rows[order])
    return ComparisonOut(
        n_queries=len(rows),
        k=N_NEAREST,
        mean_common=float(np.mean(common)),
        first=_mean(scores[0]),
        second=_mean(scores[1]),
        queries=[
            DifferingQuery(item=item, n_common=common[i], first=scores[0][i], second=scores[1][i])
            for item, i in zip(described, order, strict=True)
        ],
    )


def _search(view: ModelView, items: Items, row: int) -> list[BucketGroup]:
    """Return the nearest buckets of an item, as a search on the page does."""
    code = view.model.codes([row])
    vector = None if view.vectors is None else items.vector(row)
    embedding = None if vector is None else align_signs(view.model.embed(vector), code)
    query = CodeQuery(code, embedding, vector, row)
    return view.search.find(query, N_NEAREST, N_NEAREST, None)


def _join(groups: list[BucketGroup]) -> Int64Array:
    return np.concatenate([np.empty(0, np.int64), *(group.rows for group in groups)])


def _find_exact(items: Items, rows: Int64Array) -> list[Int64Array | None]:
    vectors = items.vectors
    if vectors is None or vectors.n_rows * vectors.width > MAX_EXACT_VALUES:
        return [None] * len(rows)
    queries = vectors.take(rows).astype(np.float64)
    return [
        vectors.nearest(query, N_NEAREST, None, exclude=row).rows
        for query, row in zip(queries, rows.tolist(), strict=True)
    ]


def _score(
    view: ModelView, items: Items, row: int, groups: list[BucketGroup], exact: Int64Array | None
) -> QueryScore:
    """Count what the codes alone find: vectors order the items of a bucket only on the page."""
    label, same, n_exact = items.label_of(row), 0.0, 0.0
    for group in groups:
        members = view.model.members(group.bucket)
        members = members[members != row]
        chance = len(group.rows) / len(members)  # that an item of the bucket is among the first ten
        same += chance * np.count_nonzero(items.labels_of(members) == label)
        if exact is not None:
            n_exact += chance * np.count_nonzero(np.isin(exact, members))
    return QueryScore(
        n_same_label=None if label == UNLABELED else float(same),
        n_exact=None if exact is None else float(n_exact),
    )


def _mean(scores: list[QueryScore]) -> ModelScore:
    same = [each.n_same_label for each in scores if each.n_same_label is not None]
    exact = [each.n_exact for each in scores if each.n_exact is not None]
    return ModelScore(
        same_label=float(np.mean(same)) / N_NEAREST if same else None,
        exact=float(np.mean(exact)) / N_NEAREST if exact else None,
    )
