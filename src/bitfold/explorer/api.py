"""The JSON API, one function per route."""

from __future__ import annotations

from typing import Annotated, Any

import anyio.to_thread
import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response

from bitfold._version import __version__
from bitfold.codes import Codes
from bitfold.explorer import models, queries, schemas
from bitfold.explorer.request_body import ReceivedBody
from bitfold.explorer.statistics import BitStatistics
from bitfold.explorer.workspace import KEY_PATTERN, ModelView, Workspace
from bitfold.search import Hits

_CACHE_HEADERS = {"Cache-Control": "private, max-age=3600"}

_NOT_EMPTY = {"type": "string", "format": "binary", "minLength": 1}

_PNG: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: {"content": {"image/png": {"schema": {"type": "string"}}}}},
}
"""Options of routes that return an image."""

router = APIRouter(prefix="/api")


def _get_workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


SharedWorkspace = Annotated[Workspace, Depends(_get_workspace)]
Key = Annotated[
    str,
    Query(
        max_length=64,
        description="`item:17`, `base:0:17` (of model 0) or `upload:…`.",
        # Only documented: the workspace explains a wrong key better than a pattern.
        json_schema_extra={"pattern": KEY_PATTERN},
    ),
]
Model = Annotated[int, Query(ge=0, description="Number of the model.")]
K = Annotated[int, Query(ge=1, le=100, description="Number of results.")]


@router.get("/about", tags=["collection"])
def about(workspace: SharedWorkspace) -> schemas.Overview:
    """Describe the models and the items."""
    items, features = workspace.items, workspace.features
    return schemas.Overview(
        version=__version__,
        n_items=len(workspace.views[0].model.index),
        models=[_model_info(view) for view in workspace.views],
        labels=items.labels.names if items.labels else [],
        has_vectors=items.vectors is not None,
        has_images=items.images is not None,
        has_text=items.text is not None,
        uploads=schemas.UploadInfo(
            max_bytes=queries.MAX_UPLOAD_BYTES,
            image_features=features.name if features else None,
            draws_vectors=features is not None and features.scale > 0,
        ),
        first=str(workspace.views[0].map.ids[0]),
    )


@router.get("/models/{model}/map", tags=["models"])
def item_map(workspace: SharedWorkspace, model: int) -> schemas.MapOut:
    """Return the 2-D map of a model: its base set and a sample of the items."""
    drawn = workspace.view(model).map
    return schemas.MapOut(
        ids=[str(item) for item in drawn.ids],
        x=_rounded(drawn.points[:, 0]),
        y=_rounded(drawn.points[:, 1]),
        labels=workspace.items.labels_of(drawn.ids).tolist(),
        base=schemas.BasePoints(
            x=_rounded(drawn.base[:, 0]),
            y=_rounded(drawn.base[:, 1]),
            labels=drawn.base_labels.tolist(),
        ),
    )


@router.get("/models/{model}/statistics", tags=["models"])
def statistics(workspace: SharedWorkspace, model: int) -> BitStatistics:
    """Return the balance and correlation of the bits of a model, and the sizes of its buckets."""
    return workspace.view(model).statistics


@router.get("/models/{model}/base/{number}/image", tags=["models"], **_PNG)
def base_image(workspace: SharedWorkspace, model: int, number: int) -> Response:
    """Return a base point as PNG, if vectors are pixels."""
    return _png(workspace.base_image(model, number))


@router.get("/items/{item}", tags=["items"])
def item(workspace: SharedWorkspace, item: int) -> schemas.Item:
    """Return what is known about an item."""
    workspace.query(f"item:{item}")
    return workspace.items.describe(item)


@router.get("/items/{item}/image", tags=["items"], **_PNG)
def image(workspace: SharedWorkspace, item: int) -> Response:
    """Return the image of an item as a small PNG."""
    return _png(workspace.image(item))


@router.get("/search", tags=["search"])
def search(
    workspace: SharedWorkspace, query: Key, model: Model = 0, k: K = 10
) -> schemas.SearchOut:
    """Return the items with the nearest codes."""
    asked, view = workspace.query(query), workspace.view(model)
    found = workspace.nearest(asked, view, k)
    code = workspace.code(asked, view)
    return schemas.SearchOut(
        query=schemas.QueryOut(
            key=asked.key,
            title=asked.title,
            item=None if asked.item is None else workspace.items.describe(asked.item),
            label=workspace.items.label_of(asked.item),
            image=asked.image,
            position=workspace.position(asked, view),
            code=code.packed.tobytes().hex(),
            has_vector=asked.vector is not None,
        ),
        n_bits=view.model.n_bits,
        hits=_hits(workspace, view, code, found),
    )


@router.get("/exact", tags=["search"])
async def exact(
    request: Request, workspace: SharedWorkspace, query: Key, model: Model = 0, k: K = 10
) -> schemas.ExactOut:
    """Return the items with the nearest vectors, with their codes by a model."""
    asked, view = workspace.query(query), workspace.view(model)
    # One at a time: a scan uses all cores, and searches by code should not wait for several.
    turn: anyio.CapacityLimiter = request.app.state.scans
    found = await anyio.to_thread.run_sync(workspace.exact, asked, k, limiter=turn)
    code = workspace.code(asked, view)
    return schemas.ExactOut(hits=_hits(workspace, view, code, found))


@router.get("/within", tags=["search"])
def within(
    workspace: SharedWorkspace,
    query: Key,
    radius: Annotated[int, Query(ge=0, le=1024)],
    model: Model = 0,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
) -> schemas.WithinOut:
    """Return the items within a Hamming radius, and their number."""
    asked, view = workspace.query(query), workspace.view(model)
    counts = workspace.count_within(asked, view).within
    count = int(counts[min(radius, view.model.n_bits)])
    code = workspace.code(asked, view)
    hits: list[schemas.Hit] = []
    if wanted := min(limit, count):
        found = workspace.nearest(asked, view, wanted)
        hits = _hits(workspace, view, code, found)
    return schemas.WithinOut(radius=radius, count=count, hits=hits)


@router.get("/radius-counts", tags=["search"])
def radius_counts(
    workspace: SharedWorkspace, query: Key, model: Model = 0
) -> schemas.RadiusCountsOut:
    """Return the number of items within every radius, and the distances of those on the map."""
    asked, view = workspace.query(query), workspace.view(model)
    counts = workspace.count_within(asked, view)
    distances = models.hamming_distances(workspace.code(asked, view), view.map.codes)
    return schemas.RadiusCountsOut(
        within=counts.within.tolist(),
        alike=None if counts.alike is None else counts.alike.tolist(),
        sample=distances.tolist(),
    )


@router.post("/uploads", tags=["search"], openapi_extra={
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


@router.get("/uploads/{name}/image", tags=["search"], **_PNG)
def uploaded_image(workspace: SharedWorkspace, name: str) -> Response:
    """Return an uploaded image as a small PNG."""
    content = workspace.uploads[f"upload:{name}"].image
    if content is None:
        raise queries.NotFoundError("This upload is a vector, not an image.")
    return _png(content)


def _model_info(view: ModelView) -> schemas.ModelInfo:
    model = view.model
    return schemas.ModelInfo(
        name=model.name,
        method=type(model.hasher).__name__,
        n_bits=model.n_bits,
        n_features=model.hasher.n_features_in_,
        n_items=len(model.index),
        n_distinct=model.n_distinct,
        n_base=len(view.map.base),
    )


def _hits(workspace: Workspace, view: ModelView, code: Codes, found: Hits) -> list[schemas.Hit]:
    ids, distances = found.ids[0].tolist(), found.distances[0].tolist()
    # Exact search may return an item that the index of this model does not contain.
    here = [item for item in ids if item in view.model]
    codes = view.model.codes(np.array(here, np.int64))
    packed = dict(zip(here, codes.packed, strict=True))
    hamming = dict(zip(here, models.hamming_distances(code, codes).tolist(), strict=True))
    return [
        schemas.Hit(
            **workspace.items.describe(item).model_dump(),
            distance=distance,
            hamming=hamming.get(item),
            code=packed[item].tobytes().hex() if item in packed else None,
        )
        for item, distance in zip(ids, distances, strict=True)
    ]


def _png(content: bytes) -> Response:
    return Response(content, media_type="image/png", headers=_CACHE_HEADERS)


def _rounded(values: Any) -> list[float]:
    """Round to five digits, which is invisible on the page, for a shorter response."""
    return [float(f"{value:.5g}") for value in values]
