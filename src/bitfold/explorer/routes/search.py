"""Routes of searches: by code, by vector, within a radius; uploads; code to copy."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import anyio.to_thread
import numpy as np
from fastapi import APIRouter, Query, Request, Response

from bitfold._types import AnyArray, Int64Array
from bitfold.codes import Codes
from bitfold.explorer import queries, schemas
from bitfold.explorer import search_schemas as shapes
from bitfold.explorer.answers import answer_search, describe_hits
from bitfold.explorer.models import hamming_distances
from bitfold.explorer.queries import NotFoundError
from bitfold.explorer.request_body import ReceivedBody
from bitfold.explorer.routes.parameters import (
    PNG,
    CoarseWeight,
    Find,
    Key,
    Model,
    OptionalKey,
    SharedWorkspace,
    Where,
    WithValues,
    send_png,
)
from bitfold.explorer.snippets import SnippetRequest, write_snippet
from bitfold.explorer.workspace import Workspace

router = APIRouter(prefix="/api", tags=["search"])

_NOT_EMPTY = {"type": "string", "format": "binary", "minLength": 1}

K = Annotated[int, Query(ge=1, le=200, description="Number of results.")]
Offset = Annotated[int, Query(ge=0, le=1 << 31)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/search")
def search(
    workspace: SharedWorkspace,
    query: Key,
    model: Model = 0,
    k: K = 30,
    per_group: Annotated[int, Query(ge=1, le=100)] = 10,
    rank: Literal["embedding", "hamming"] | None = None,
    coarse_weight: CoarseWeight = None,
    where: Where = None,
    find: Find = None,
    values: WithValues = False,
) -> shapes.SearchOut:
    """Return the items with the nearest codes, in groups that share one code."""
    asked, view = workspace.query(query), workspace.view(model)
    coded = workspace.code_query(asked, view, rank, coarse_weight)
    among = workspace.filter(where, find)
    groups = view.search.find(coded, k, per_group, among)
    return answer_search(
        workspace, view, asked, coded, groups, among, coarse_weight, with_values=values
    )


@router.get("/bucket")
def bucket(
    workspace: SharedWorkspace,
    query: Key,
    code: Annotated[str, Query(pattern="^[0-9a-f]{2,256}$")],
    model: Model = 0,
    offset: Offset = 0,
    limit: Limit = 50,
    where: Where = None,
    find: Find = None,
    values: WithValues = False,
) -> shapes.BucketOut:
    """Return items that share one code, ordered as in a search for the query."""
    asked, view = workspace.query(query), workspace.view(model)
    wanted = workspace.code(workspace.query(f"code:{code}"), view)
    number = view.model.find_bucket(wanted)
    if number is None:
        raise NotFoundError(f"No item has the code {code}.")
    among = workspace.filter(where, find)
    coded = workspace.code_query(asked, view, "hamming", None)
    size = int(view.search.count_sizes(coded, among)[number])
    rows, distances = view.search.order(coded, number, among, offset + limit, offset)
    hits = describe_hits(workspace, rows, distances, first=offset, with_values=values)
    order = "id" if distances is None else "exact"
    return shapes.BucketOut(code=code, size=size, order_inside=order, hits=hits)


@router.get("/exact")
async def exact(
    request: Request,
    workspace: SharedWorkspace,
    query: Key,
    model: Model = 0,
    k: K = 10,
    where: Where = None,
    find: Find = None,
    values: WithValues = False,
) -> shapes.ExactOut:
    """Return the items with the nearest vectors, with their codes by a model."""

    def answer() -> shapes.ExactOut:
        return _find_exact(workspace, query, model, k, workspace.filter(where, find), values)

    # One at a time: a scan uses all cores, and searches by code should not wait for several.
    turn: anyio.CapacityLimiter = request.app.state.scans
    return await anyio.to_thread.run_sync(answer, limiter=turn)


@router.get("/within")
def within(
    workspace: SharedWorkspace,
    query: Key,
    radius: Annotated[int, Query(ge=0, le=1024)],
    model: Model = 0,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
) -> shapes.WithinOut:
    """Return the items within a Hamming radius, nearest first, and their number."""
    asked, view = workspace.query(query), workspace.view(model)
    code = workspace.code(asked, view)
    distances = view.model.measure(code)[view.model.bucket_of]
    rows = np.flatnonzero(distances <= radius)
    rows = rows if asked.item is None else rows[rows != asked.item]
    order = np.argsort(distances[rows], kind="stable")[:limit]
    hits = _with_codes(workspace, model, code, rows[order], None)
    return shapes.WithinOut(radius=radius, count=len(rows), hits=hits)


@router.get("/radius-counts")
def radius_counts(
    workspace: SharedWorkspace, query: Key, model: Model = 0
) -> shapes.RadiusCountsOut:
    """Return the number of items within every radius."""
    counts = workspace.count_within(workspace.query(query), workspace.view(model))
    return shapes.RadiusCountsOut(
        within=counts.within.tolist(),
        alike=None if counts.alike is None else counts.alike.tolist(),
    )


@router.get("/python")
def python(
    workspace: SharedWorkspace,
    view: Literal["search", "bucket", "duplicates", "selection", "map"] = "search",
    query: OptionalKey = None,
    model: Model = 0,
    k: K = 10,
    where: Where = None,
    find: Find = None,
    rank: Literal["embedding", "hamming"] | None = None,
    coarse_weight: CoarseWeight = None,
    radius: Annotated[int | None, Query(ge=0, le=1024)] = None,
) -> shapes.SnippetOut:
    """Return Python code that does what the page shows."""
    asked = workspace.query(query) if query else None
    columns = workspace.items.table.columns
    texts = tuple(name for name, kind in columns.items() if kind is str)
    wanted = SnippetRequest(view, k, where, find, texts, rank, coarse_weight, radius)
    return shapes.SnippetOut(code=write_snippet(workspace.view(model).model, asked, wanted))


@router.post("/uploads", openapi_extra={
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": _NOT_EMPTY}},
    }
})  # fmt: skip
async def upload(request: Request, workspace: SharedWorkspace) -> schemas.UploadOut:
    """Upload an image (PNG, JPEG, GIF, WebP, BMP), a .npy file, or numbers as text."""
    with ReceivedBody(request.app.state.bodies) as body:
        await body.receive(request)
        # One at a time, because an image may decode to much more than was sent.
        turn: anyio.CapacityLimiter = request.app.state.uploads
        taken = await anyio.to_thread.run_sync(lambda: workspace.upload(body.read()), limiter=turn)
    return schemas.UploadOut(
        key=taken.key, n_features=len(taken.vector), image=workspace.query(taken.key).image
    )


@router.get("/uploads/{name}/image", **PNG)
def uploaded_image(workspace: SharedWorkspace, name: str) -> Response:
    """Return an uploaded image as a small PNG."""
    content = workspace.uploads[f"upload:{name}"].image
    if content is None:
        raise queries.NotFoundError("This upload is a vector, not an image.")
    return send_png(content)


def _find_exact(
    workspace: Workspace,
    key: str,
    model: int,
    k: int,
    among: Int64Array | None,
    with_values: bool,
) -> shapes.ExactOut:
    asked, vectors = workspace.query(key), workspace.items.vectors
    view = workspace.view(model)
    if vectors is None:
        raise NotFoundError(
            "Exact neighbors need vectors; keep them in the collection, or start with --vectors."
        )
    if asked.vector is None:
        raise NotFoundError("This query has no vector.")
    found = vectors.nearest(asked.vector, k, among, exclude=asked.item)
    code = workspace.code(asked, view)
    hits = _with_codes(workspace, model, code, found.rows, found.distances, with_values)
    return shapes.ExactOut(metric=vectors.metric, hits=hits)


def _with_codes(
    workspace: Workspace,
    model: int,
    code: Codes,
    rows: Int64Array,
    distances: AnyArray | None,
    with_values: bool = False,
) -> list[shapes.Hit]:
    codes = workspace.view(model).model.codes(rows)
    extra: list[dict[str, Any]] = [
        {"hamming": distance, "code": packed.tobytes().hex()}
        for distance, packed in zip(
            hamming_distances(code, codes).tolist(), codes.packed, strict=True
        )
    ]
    return describe_hits(workspace, rows, distances, extra=extra, with_values=with_values)
