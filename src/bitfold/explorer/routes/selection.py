"""Routes of selections: their composition, and their files."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Depends, Response
from fastapi.responses import StreamingResponse

from bitfold._types import Int64Array
from bitfold.explorer import selection as selecting
from bitfold.explorer.columns import CategoryColumn
from bitfold.explorer.routes.bodies import describe_body, read_body
from bitfold.explorer.routes.parameters import (
    BINARY,
    FILE,
    SharedWorkspace,
    send_array,
    send_file,
)
from bitfold.explorer.selection import SelectionOut, SelectionRequest
from bitfold.explorer.workspace import Workspace

router = APIRouter(prefix="/api/selection", tags=["selection"])

_BODY = describe_body(SelectionRequest)

Wanted = Annotated[SelectionRequest, Depends(read_body(SelectionRequest))]


@router.post("", openapi_extra=_BODY)
def selection(workspace: SharedWorkspace, wanted: Wanted) -> SelectionOut:
    """Return the number of selected items, some of them, and their composition by column."""
    rows, items = _select(workspace, wanted), workspace.items
    shown = np.sort(np.random.default_rng(0).permutation(rows)[: selecting.N_SHOWN])
    label = None
    if items.labels is not None:
        labels = items.labels
        counts = np.bincount(labels.numbers[labels.numbers >= 0], minlength=len(labels.names))
        column = CategoryColumn(labels.names, counts.tolist(), labels.numbers)
        label = selecting.compose_categories("label", "str", column, rows)
    buckets = workspace.view(wanted.model).model.bucket_of[rows]
    return SelectionOut(
        n_items=len(rows),
        n_buckets=len(np.unique(buckets)),
        items=items.describe(shown, with_values=True),
        columns=selecting.compose(items, workspace.columns, rows),
        label=label,
    )


@router.post("/points", openapi_extra=_BODY, **BINARY)
def selected_points(workspace: SharedWorkspace, wanted: Wanted) -> Response:
    """Return the selected points as uint32."""
    rows = _select(workspace, wanted)
    return send_array(np.sort(workspace.items.points[rows]).astype(np.uint32), None)


@router.post("/export", openapi_extra=_BODY, **FILE)
def export_selection(
    workspace: SharedWorkspace,
    wanted: Wanted,
    format: Literal["csv", "ids", "jsonl"] = "csv",  # noqa: A002  the name in the address
) -> StreamingResponse:
    """Return the selected items as a file."""
    lines = selecting.export_rows(workspace.items, _select(workspace, wanted), format)
    return send_file(lines, format, "selection")


def _select(workspace: Workspace, wanted: SelectionRequest) -> Int64Array:
    filtered = workspace.filter(wanted.where, wanted.find)
    points = workspace.view(wanted.model).map.points
    return selecting.select_rows(wanted, workspace.items, points, filtered)
