"""Answers to searches in words and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold._types import AnyArray, Int64Array
from bitfold.codes import Codes
from bitfold.explorer.code_search import BucketGroup, CodeQuery
from bitfold.explorer.model_view import ModelView
from bitfold.explorer.queries import Query
from bitfold.explorer.search_schemas import GroupOut, Hit, QueryOut, SearchOut
from bitfold.explorer.workspace import Workspace


def describe_hits(
    workspace: Workspace,
    rows: Int64Array,
    distances: AnyArray | None,
    *,
    first: int = 0,
    extra: list[dict[str, Any]] | None = None,
    with_values: bool = False,
) -> list[Hit]:
    """Return items as results; ``first`` is the number of results before them."""
    items = workspace.items.describe(rows, with_values=with_values)
    lengths = [None] * len(items) if distances is None else distances.tolist()
    more = extra or [{}] * len(items)
    return [
        Hit(**item.model_dump(), rank=first + i + 1, distance=lengths[i], **more[i])
        for i, item in enumerate(items)
    ]


def answer_search(
    workspace: Workspace,
    view: ModelView,
    asked: Query,
    coded: CodeQuery,
    groups: list[BucketGroup],
    among: Int64Array | None,
    coarse_weight: float | None,
    *,
    with_values: bool = False,
) -> SearchOut:
    """Describe the groups that a search found.

    Parameters
    ----------
    workspace
        The items.
    view
        The model.
    asked, coded
        The query.
    groups
        What was found.
    among
        Rows that were searched; None for all.
    coarse_weight
        Weight that the visitor chose.
    with_values
        Whether items have their metadata.

    Returns
    -------
    SearchOut
        The response.
    """
    n_searched = len(workspace.items) if among is None else len(among)
    is_among = asked.item is not None and (among is None or bool(np.isin(asked.item, among)))
    order = "exact" if coded.vector is not None else "id"
    n_hits = sum(len(group.rows) for group in groups)
    described = iter(_describe_all(workspace, groups, with_values))
    return SearchOut(
        query=_describe_query(workspace, view, asked, coded),
        n_bits=view.model.n_bits,
        rank="hamming" if coded.embedding is None else "embedding",
        can_rank_by_embedding=workspace.embedding(asked, view) is not None,
        coarse_weight=coarse_weight,
        order_inside=order,
        n_searched=n_searched - is_among,
        groups=[_describe_group(view, coded, group, next(described)) for group in groups],
        n_hits=n_hits,
        explanation=_explain(coded, order),
        tie=_explain_tie(groups, coded, order, n_hits),
    )


def _describe_all(
    workspace: Workspace, groups: list[BucketGroup], with_values: bool
) -> list[list[Hit]]:
    """Return the hits of all groups; their metadata are read together."""
    rows = np.concatenate([np.empty(0, np.int64), *(group.rows for group in groups)])
    hits = describe_hits(workspace, rows, None, with_values=with_values)
    out, start = [], 0
    for group in groups:
        part = hits[start : start + len(group.rows)]
        if group.distances is not None:
            for hit, distance in zip(part, group.distances.tolist(), strict=True):
                hit.distance = distance
        out.append(part)
        start += len(group.rows)
    return out


def _describe_query(
    workspace: Workspace, view: ModelView, asked: Query, coded: CodeQuery
) -> QueryOut:
    item = None
    if asked.item is not None:
        [item] = workspace.items.describe([asked.item], with_values=True)
        bucket: int | None = int(view.model.bucket_of[asked.item])
    else:
        bucket = view.model.find_bucket(coded.code)
    size = 0 if bucket is None else int(view.model.sizes[bucket]) - (asked.item is not None)
    embedding = workspace.embedding(asked, view)
    return QueryOut(
        key=asked.key,
        title=asked.title,
        item=item,
        label=workspace.items.label_of(asked.item),
        image=asked.image,
        position=workspace.position(asked, view),
        code=coded.code.packed.tobytes().hex(),
        embedding=None if embedding is None else [float(f"{v:.4g}") for v in embedding.tolist()],
        has_vector=asked.vector is not None,
        bucket_size=size,
    )


def _describe_group(
    view: ModelView, coded: CodeQuery, group: BucketGroup, hits: list[Hit]
) -> GroupOut:
    code = view.model.distinct[group.bucket]
    coarse = _measure_coarse(view, coded.code, code)
    return GroupOut(
        code=code.packed.tobytes().hex(),
        hamming=group.hamming,
        coarse_hamming=coarse,
        fine_hamming=None if coarse is None else group.hamming - coarse,
        score=group.score,
        size=group.size,
        n_tied=group.n_tied,
        hits=hits,
    )


def _measure_coarse(view: ModelView, query: Codes, code: Codes) -> int | None:
    """Return the number of coarse bits that differ; None if codes have one part."""
    n = view.model.n_coarse_bits
    if n is None:
        return None
    differing = query.prefix(n).packed ^ code.prefix(n).packed
    return int(np.bitwise_count(differing).sum())


def _explain(coded: CodeQuery, order: str) -> str:
    if coded.embedding is None:
        ranked = "Codes are ordered by Hamming distance: the number of bits that differ"
    else:
        ranked = (
            "Codes are ordered by the weighted sum of the bits that differ: a bit counts more if "
            "the query is far from its threshold"
        )
    if order == "exact":
        return f"{ranked}. Items with the same code are ordered by the exact distance of vectors."
    return f"{ranked}. Items with the same code are in no particular order."


def _explain_tie(
    groups: list[BucketGroup], coded: CodeQuery, order: str, n_hits: int
) -> str | None:
    """Return a sentence about items that the codes do not tell apart, or None."""
    if not groups:
        return None
    first = groups[0]
    known = "ordered by exact distance" if order == "exact" else "their order is arbitrary"
    if first.size > 1 and first.hamming == 0:
        return f"{first.size:,} items share the code of the query; {known}."
    if first.size > 1:
        return f"{first.size:,} items share the nearest code; {known}."
    last = groups[-1]
    if coded.embedding is None and last.n_tied > last.size:
        away = "1 bit" if last.hamming == 1 else f"{last.hamming} bits"
        return f"{last.n_tied:,} items are {away} away; only some of them are among these {n_hits}."
    return None
