"""Routes about maps: points and colors as arrays, legends, density and regions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bitfold.explorer import density, schemas
from bitfold.explorer.channels import BY_PATTERN, Channel
from bitfold.explorer.routes.parameters import (
    BINARY,
    PNG,
    Etag,
    OptionalKey,
    SharedWorkspace,
    send_array,
    send_png,
)
from bitfold.explorer.workspace import Workspace

router = APIRouter(prefix="/api/models/{model}", tags=["maps"])

By = Annotated[
    str,
    Query(
        max_length=210,
        description="`label`, `bucket`, `coarse`, `density`, `region`, `distance` (to the query), "
        "`bit:3` or `column:…`.",
        json_schema_extra={"pattern": BY_PATTERN},
    ),
]


@router.get("/map")
def item_map(workspace: SharedWorkspace, model: int) -> schemas.MapOut:
    """Describe the 2-D map of a model, with its base set."""
    shown = workspace.view(model).map
    source = "codes" if shown.placement.hasher is None else "vectors"
    n_anchors = len(shown.placement.positions)
    return schemas.MapOut(
        n_points=len(shown.points),
        base=schemas.BasePoints(
            x=[round(float(x), 5) for x in shown.base[:, 0]],
            y=[round(float(y), 5) for y in shown.base[:, 1]],
            labels=shown.base_labels.tolist(),
        ),
        map_from=source,
        n_anchors=n_anchors,
        explanation=(
            f"t-SNE places {n_anchors:,} anchors by their {source}; every item is the weighted "
            f"mean of its nearest anchors. Distances on the map are only a guide: near items are "
            f"alike, but far ones need not differ much."
        ),
    )


@router.get("/points", **BINARY)
def points(workspace: SharedWorkspace, model: int, etag: Etag = None) -> Response:
    """Return the coordinates of all points as uint16 pairs (x, y); 65535 is 1."""
    return send_array(workspace.view(model).ordered_points, etag)


@router.get("/legend")
def legend(
    workspace: SharedWorkspace, model: int, by: By, query: OptionalKey = None
) -> schemas.LegendOut:
    """Describe the colors of a channel."""
    return _find_channel(workspace, model, by, query).legend


@router.get("/colors", **BINARY)
def colors(
    workspace: SharedWorkspace, model: int, by: By, query: OptionalKey = None, etag: Etag = None
) -> Response:
    """Return the colors of all points by a channel as uint16.

    Categories are numbers from 0; 65534 stands for all others, 65535 for a missing value. Numbers
    are scaled so that 0 is the ``low`` and 65533 the ``high`` of the legend.
    """
    return send_array(_find_channel(workspace, model, by, query).colors, etag)


@router.get("/density", **BINARY)
def density_grid(workspace: SharedWorkspace, model: int, etag: Etag = None) -> Response:
    """Return the smoothed number of items per cell as float32, 256 × 256, from the bottom up."""
    counts = density.count_cells(workspace.view(model).map.points)
    return send_array(density.smooth(counts), etag)


@router.get("/regions")
def regions(workspace: SharedWorkspace, model: int) -> list[schemas.RegionOut]:
    """Return clusters of the map, largest first, with names or typical items."""
    return workspace.view(model).regions()


@router.get("/base/{number}/image", **PNG)
def base_image(workspace: SharedWorkspace, model: int, number: int) -> Response:
    """Return a base point as PNG, if vectors are pixels."""
    return send_png(workspace.base_image(model, number))


def _find_channel(workspace: Workspace, model: int, by: str, query: str | None) -> Channel:
    view = workspace.view(model)
    code = workspace.code(workspace.query(query), view) if query else None
    return view.channels.find(by, code)
