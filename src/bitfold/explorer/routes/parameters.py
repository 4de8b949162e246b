"""Parameters and responses that several routes share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from bitfold._types import AnyArray
from bitfold.explorer.startup import Startup
from bitfold.explorer.workspace import KEY_PATTERN, Workspace

CACHE_HEADERS = {"Cache-Control": "private, max-age=3600"}

PNG: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: {"content": {"image/png": {"schema": {"type": "string"}}}}},
}
"""Options of routes that return an image."""

BINARY: dict[str, Any] = {
    "response_class": Response,
    "responses": {
        200: {
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            }
        },
        304: {"description": "The array has not changed."},
    },
}
"""Options of routes that return an array."""


FILE: dict[str, Any] = {
    "response_class": StreamingResponse,
    "responses": {
        200: {
            "content": {
                kind: {"schema": {"type": "string"}}
                for kind in ("text/csv", "text/plain", "application/x-ndjson")
            }
        }
    },
}
"""Options of routes that return a file."""

_FILE_TYPES = {"csv": "text/csv", "ids": "text/plain", "jsonl": "application/x-ndjson"}


def _get_workspace(request: Request) -> Workspace:
    startup: Startup = request.app.state.startup
    return startup.workspace


SharedWorkspace = Annotated[Workspace, Depends(_get_workspace)]

Key = Annotated[
    str,
    Query(
        max_length=600,
        description="`item:…` (an id), `point:17`, `code:…` (hexadecimal), `base:0:17` (of model "
        "0) or `upload:…`.",
        # Only documented: the workspace explains a wrong key better than a pattern.
        json_schema_extra={"pattern": KEY_PATTERN},
    ),
]
OptionalKey = Annotated[
    str | None, Query(max_length=600, description="A query, as in /api/search.")
]
Model = Annotated[int, Query(ge=0, description="Number of the model.")]
Where = Annotated[
    str | None,
    Query(max_length=2000, description="Condition on metadata, such as `year >= 2020`."),
]
Find = Annotated[
    str | None, Query(max_length=200, description="Text that occurs in the metadata or the id.")
]
WithValues = Annotated[bool, Query(description="Whether items have their metadata.")]
CoarseWeight = Annotated[
    float | None,
    Query(ge=0.05, le=20, description="Weight of the coarse bits of a DualHasher."),
]
Etag = Annotated[str | None, Header(alias="if-none-match", include_in_schema=False)]


def send_array(
    array: AnyArray, etag: str | None, headers: dict[str, str] | None = None
) -> Response:
    """Return an array as little-endian bytes, or 304 if the client has it already."""
    content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    own = f'"{hashlib.blake2b(content.data, digest_size=16).hexdigest()}"'
    shared = {"ETag": own, "Cache-Control": "private, no-cache", **(headers or {})}
    if etag == own:
        return Response(status_code=304, headers=shared)
    return Response(content.tobytes(), media_type="application/octet-stream", headers=shared)


def send_png(content: bytes) -> Response:
    """Return an image."""
    return Response(content, media_type="image/png", headers=CACHE_HEADERS)


def send_file(lines: Iterator[str], form: str, name: str) -> StreamingResponse:
    """Return lines as a file to download."""
    suffix = "txt" if form == "ids" else form
    headers = {"Content-Disposition": f'attachment; filename="{name}.{suffix}"'}
    return StreamingResponse(lines, media_type=_FILE_TYPES[form], headers=headers)
