"""Routes about items and their metadata."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from bitfold._version import __version__
from bitfold.explorer import queries, schemas
from bitfold.explorer.item_table import TYPE_NAMES
from bitfold.explorer.model_view import ModelView
from bitfold.explorer.queries import NotFoundError
from bitfold.explorer.routes.parameters import (
    BINARY,
    PNG,
    Etag,
    Find,
    SharedWorkspace,
    Where,
    WithValues,
    send_array,
    send_png,
)
from bitfold.explorer.startup import Startup
from bitfold.hashers import DualHasher
from bitfold.search import default_radius

router = APIRouter(prefix="/api", tags=["items"])


@router.get("/about")
def about(request: Request, workspace: SharedWorkspace) -> schemas.Overview:
    """Describe the models and the items."""
    items, features = workspace.items, workspace.features
    kind = "image" if items.images else "text" if items.text_column else "row"
    [first] = items.table.ids.names(items.order[:1])
    return schemas.Overview(
        version=__version__,
        n_items=len(items),
        models=[_model_info(view) for view in workspace.views],
        item_kind=kind,
        columns=[
            schemas.ColumnName(name=name, type=TYPE_NAMES[each])
            for name, each in items.table.columns.items()
        ],
        text_column=items.text_column,
        label_column=items.label_column,
        image_column=items.image_column,
        labels=items.labels.names if items.labels else [],
        has_vectors=items.vectors is not None,
        has_images=items.images is not None,
        has_text=items.text_column is not None,
        has_labels=items.labels is not None,
        metric="euclidean" if items.vectors is None else items.vectors.metric,
        uploads=schemas.UploadInfo(
            max_bytes=queries.MAX_UPLOAD_BYTES,
            image_features=features.name if features else None,
            draws_vectors=features is not None and features.scale > 0,
        ),
        first=first,
        notebook=request.app.state.is_framed,
    )


@router.get("/progress")
def progress(request: Request) -> schemas.ProgressOut:
    """Return how far the preparation of the maps is; other requests have to wait for it."""
    startup: Startup = request.app.state.startup
    done = 1.0 if startup.is_ready else min(max(startup.done, 0.0), 1.0)
    return schemas.ProgressOut(ready=startup.is_ready, stage=startup.stage, done=done)


@router.get("/items")
def find_items(
    workspace: SharedWorkspace,
    where: Where = None,
    find: Find = None,
    limit: Annotated[int, Query(ge=0, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1 << 31)] = 0,
    values: WithValues = True,
) -> schemas.FoundItems:
    """Return items that meet a filter."""
    selected = workspace.items.table.select(where or None, find or None)
    rows = np.arange(len(workspace.items)) if selected is None else selected.rows
    shown = rows[offset : offset + limit]
    return schemas.FoundItems(
        n_found=len(rows),
        is_complete=selected is None or selected.is_complete,
        items=workspace.items.describe(shown, with_values=values),
    )


@router.get("/random")
def random_item(workspace: SharedWorkspace, where: Where = None, find: Find = None) -> schemas.Item:
    """Return a random item of those that meet a filter."""
    rows = workspace.filter(where, find)
    n = len(workspace.items) if rows is None else len(rows)
    if not n:
        raise NotFoundError("No item meets the filter.")
    at = int(np.random.default_rng().integers(n))
    return workspace.items.describe([at if rows is None else rows[at]], with_values=True)[0]


@router.get("/matches", **BINARY)
def matches(
    workspace: SharedWorkspace, where: Where = None, find: Find = None, etag: Etag = None
) -> Response:
    """Return which points meet a filter: one byte per point, 1 or 0."""
    items, rows = workspace.items, workspace.filter(where, find)
    mask = np.full(len(items), rows is None, np.uint8)
    if rows is not None:
        mask[items.points[rows]] = 1
    n = len(items) if rows is None else len(rows)
    return send_array(mask, etag, {"X-Count": str(n)})


@router.get("/items/{point}")
def item(workspace: SharedWorkspace, point: int) -> schemas.Item:
    """Return what is known about an item."""
    return workspace.items.describe([workspace.row(point)], with_values=True)[0]


@router.get("/items/{point}/image", **PNG)
def image(workspace: SharedWorkspace, point: int) -> Response:
    """Return the image of an item as a small PNG."""
    return send_png(workspace.image(workspace.row(point)))


@router.get("/columns")
def columns(workspace: SharedWorkspace) -> list[schemas.ColumnOut]:
    """Describe the metadata columns."""
    return workspace.columns.describe()


def _model_info(view: ModelView) -> schemas.ModelInfo:
    model, hasher = view.model, view.model.hasher
    return schemas.ModelInfo(
        name=model.name,
        method=type(hasher).__name__,
        n_bits=model.n_bits,
        n_features=hasher.n_features_in_,
        n_items=model.n_rows,
        n_distinct=model.n_distinct,
        n_base=len(view.map.base),
        n_coarse_bits=model.n_coarse_bits,
        coarse_weight=hasher.coarse_weight if isinstance(hasher, DualHasher) else None,
        parts=_list_parts(view),
        default_radius=default_radius(model.n_bits),
        map_from="codes" if view.map.placement.hasher is None else "vectors",
        map_digest=view.map.digest,
    )


def _list_parts(view: ModelView) -> list[schemas.CodePart]:
    n_bits, n_coarse = view.model.n_bits, view.model.n_coarse_bits
    if n_coarse is None:
        return [schemas.CodePart(name="code", start=0, end=n_bits)]
    return [
        schemas.CodePart(name="coarse", start=0, end=n_coarse),
        schemas.CodePart(name="fine", start=n_coarse, end=n_bits),
    ]
