"""Routes about the quality of models, and near-duplicates."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeVar

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from bitfold._types import Int32Array, Int64Array
from bitfold.explorer.answers import describe_hits
from bitfold.explorer.duplicates import RowGroups
from bitfold.explorer.model_view import ModelView
from bitfold.explorer.routes.bodies import describe_body, read_body
from bitfold.explorer.routes.parameters import FILE, SharedWorkspace, WithValues, send_file
from bitfold.explorer.schemas import WHOLE_FLOATS, Item
from bitfold.explorer.search_schemas import Hit
from bitfold.explorer.statistics_schemas import BitStatistics, ComparisonOut
from bitfold.explorer.workspace import MAX_COMPARED, Workspace
from bitfold.search import default_radius

T = TypeVar("T")

router = APIRouter(prefix="/api")

_GROUPS_PER_BATCH = 256

Radius = Annotated[int | None, Query(ge=0, le=1024, description="By default one bit in sixteen.")]
Offset = Annotated[int, Query(ge=0, le=1 << 31)]


class DuplicateGroup(BaseModel):
    """Items that are near the first of them."""

    number: int
    size: int
    representative: Item
    items: list[Hit]


class DuplicatesOut(BaseModel):
    """Groups of near-duplicates, largest first."""

    radius: int
    default_radius: int
    max_radius: int
    n_groups: int
    n_items: int
    n_extra: int = Field(description="Number of items that are not the first of their group.")
    groups: list[DuplicateGroup]


class DuplicateItems(BaseModel):
    """Some items of one group."""

    number: int
    size: int
    items: list[Hit]


class DuplicatesExport(BaseModel):
    """Which items of all groups to keep: representatives, with these exceptions."""

    radius: Annotated[int, Field(ge=0, le=1024), WHOLE_FLOATS] | None = None
    min_size: Annotated[int, Field(ge=2), WHOLE_FLOATS] = 2
    keep: list[str] = Field(default=[], max_length=100_000)
    discard: list[str] = Field(default=[], max_length=100_000)
    format: Literal["csv", "ids"] = "csv"


@router.get("/models/{model}/statistics", tags=["models"])
async def statistics(request: Request, workspace: SharedWorkspace, model: int) -> BitStatistics:
    """Return what the codes of a model find and lose, and how their bits are distributed."""
    return await _take_turn(request, workspace.view(model).statistics)


@router.get("/compare", tags=["models"])
async def compare(
    request: Request,
    workspace: SharedWorkspace,
    first: Annotated[int, Query(ge=0)] = 0,
    second: Annotated[int, Query(ge=0)] = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_COMPARED)] = 24,
) -> ComparisonOut:
    """Return items for which two models find the most different neighbors."""
    known = await _take_turn(request, lambda: workspace.compare(first, second))
    return known.model_copy(update={"queries": known.queries[:limit]})


@router.get("/models/{model}/duplicates", tags=["duplicates"])
async def duplicates(
    request: Request,
    workspace: SharedWorkspace,
    model: int,
    radius: Radius = None,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=0, le=100)] = 20,
    per_group: Annotated[int, Query(ge=1, le=100)] = 12,
    min_size: Annotated[int, Query(ge=2, le=1 << 31)] = 2,
    values: WithValues = False,
) -> DuplicatesOut:
    """Return groups of items whose codes are within a radius of their first item."""
    view = workspace.view(model)

    def answer() -> DuplicatesOut:
        wanted, groups = _find_groups(view, radius)
        n_groups = groups.at_least(min_size)
        n_items = int(groups.offsets[n_groups])
        shown = range(offset, min(offset + limit, n_groups))
        return DuplicatesOut(
            radius=wanted,
            default_radius=default_radius(view.model.n_bits),
            max_radius=view.duplicates.max_radius,
            n_groups=n_groups,
            n_items=n_items,
            n_extra=n_items - n_groups,
            groups=[_describe_group(workspace, groups, i, per_group, values) for i in shown],
        )

    return await _take_turn(request, answer)


@router.get("/models/{model}/duplicates/{number:int}", tags=["duplicates"])
async def duplicate_group(
    request: Request,
    workspace: SharedWorkspace,
    model: int,
    number: int,
    radius: Radius = None,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    values: WithValues = False,
) -> DuplicateItems:
    """Return the items of one group, the representative first."""
    view = workspace.view(model)

    def answer() -> DuplicateItems:
        rows, distances = _find_groups(view, radius)[1].group(number)
        part = slice(offset, offset + limit)
        items = _describe_members(workspace, rows[part], distances[part], offset, values)
        return DuplicateItems(number=number, size=len(rows), items=items)

    return await _take_turn(request, answer)


@router.post(
    "/models/{model}/duplicates/export",
    tags=["duplicates"],
    openapi_extra=describe_body(DuplicatesExport),
    **FILE,
)
async def export_duplicates(
    request: Request,
    workspace: SharedWorkspace,
    model: int,
    wanted: Annotated[DuplicatesExport, Depends(read_body(DuplicatesExport))],
) -> StreamingResponse:
    """Return all groups as CSV (group, id, hamming, keep), or the ids to discard."""
    view = workspace.view(model)
    _, groups = await _take_turn(request, lambda: _find_groups(view, wanted.radius))
    return send_file(_write_groups(workspace, groups, wanted), wanted.format, "duplicates")


async def _take_turn(request: Request, work: Callable[[], T]) -> T:
    """Do long work in a thread, one at a time: it uses all cores."""
    turn: anyio.CapacityLimiter = request.app.state.scans
    return await anyio.to_thread.run_sync(work, limiter=turn)


def _find_groups(view: ModelView, radius: int | None) -> tuple[int, RowGroups]:
    """Return the radius, by default that of the code length, and its groups."""
    wanted = default_radius(view.model.n_bits) if radius is None else radius
    wanted = min(wanted, view.duplicates.max_radius)
    return wanted, view.duplicates.find(wanted)


def _describe_group(
    workspace: Workspace, groups: RowGroups, number: int, per_group: int, with_values: bool
) -> DuplicateGroup:
    rows, distances = groups.group(number)
    part = slice(0, per_group)
    items = _describe_members(workspace, rows[part], distances[part], 0, with_values)
    first = Item(**items[0].model_dump(include=set(Item.model_fields)))
    return DuplicateGroup(number=number, size=len(rows), representative=first, items=items)


def _describe_members(
    workspace: Workspace, rows: Int64Array, distances: Int32Array, first: int, with_values: bool
) -> list[Hit]:
    extra: list[dict[str, Any]] = [{"hamming": distance} for distance in distances.tolist()]
    return describe_hits(workspace, rows, None, first=first, extra=extra, with_values=with_values)


def _write_groups(
    workspace: Workspace, groups: RowGroups, wanted: DuplicatesExport
) -> Iterator[str]:
    """Yield the lines of a file about all groups, some groups at a time."""
    keep, discard = set(wanted.keep), set(wanted.discard)
    if wanted.format == "csv":
        yield "group,id,hamming,keep\n"
    n_groups = groups.at_least(wanted.min_size)
    for first in range(0, n_groups, _GROUPS_PER_BATCH):
        stop = min(first + _GROUPS_PER_BATCH, n_groups)
        begin, end = int(groups.offsets[first]), int(groups.offsets[stop])
        names = workspace.items.table.ids.names(groups.rows[begin:end])
        distances = groups.distances[begin:end].tolist()
        out, at = io.StringIO(), 0
        writer = csv.writer(out, lineterminator="\n")
        for number in range(first, stop):
            size = int(groups.offsets[number + 1] - groups.offsets[number])
            for i in range(at, at + size):
                is_kept = names[i] not in discard if i == at else names[i] in keep
                if wanted.format == "csv":
                    writer.writerow([number, names[i], distances[i], int(is_kept)])
                elif not is_kept:
                    out.write(f"{names[i]}\n")
            at += size
        yield out.getvalue()
