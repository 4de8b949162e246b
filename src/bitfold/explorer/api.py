"""The JSON API and the page: every question is one route."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
import numpy as np
from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from bitfold._threads import n_threads
from bitfold._version import __version__
from bitfold.codes import Codes
from bitfold.explorer import models, queries, schemas
from bitfold.explorer.collection import Collection, Shown
from bitfold.explorer.guard import Guard, Rules, TooLong
from bitfold.explorer.images import NoPicture

PAGE = Path(__file__).parent / "page"

_UPLOADS_AT_ONCE = 2

_KEPT_IN_BROWSER = {"Cache-Control": "private, max-age=3600"}

router = APIRouter(prefix="/api")


def _collection(request: Request) -> Collection:
    found: Collection = request.app.state.collection
    return found


There = Annotated[Collection, Depends(_collection)]
Key = Annotated[
    str, Query(max_length=64, description="`item:17`, `base:0:17` (of model 0) or `upload:…`.")
]
Model = Annotated[int, Query(ge=0, description="Number of the model.")]
K = Annotated[int, Query(ge=1, le=100, description="How many.")]


@router.get("/about", tags=["collection"])
def about(there: There) -> schemas.About:
    """Tell what there is to explore."""
    items = there.items
    return schemas.About(
        version=__version__,
        n_items=len(there.models[0].coded.index),
        models=[_model_about(shown) for shown in there.models],
        labels=items.labels.names if items.labels else [],
        has_vectors=items.vectors is not None,
        has_pictures=items.album is not None,
        has_text=items.text is not None,
        uploads=schemas.UploadAbout(
            most_bytes=queries.MOST_BYTES,
            pictures_as=there.reading.name if there.reading else None,
            draws_vectors=there.reading is not None and there.reading.scale > 0,
        ),
        first=str(there.models[0].plane.ids[0]),
    )


@router.get("/models/{model}/map", tags=["models"])
def plane(there: There, model: int) -> schemas.Map:
    """Give the 2-D map of a model: its base set and a sample of the items."""
    drawn = there.model(model).plane
    return schemas.Map(
        ids=[str(item) for item in drawn.ids],
        x=_rounded(drawn.points[:, 0]),
        y=_rounded(drawn.points[:, 1]),
        labels=there.items.labels_of(drawn.ids).tolist(),
        base=schemas.BasePoints(
            x=_rounded(drawn.base[:, 0]),
            y=_rounded(drawn.base[:, 1]),
            labels=drawn.base_labels.tolist(),
        ),
    )


@router.get("/models/{model}/statistics", tags=["models"])
def statistics(there: There, model: int) -> schemas.StatisticsOut:
    """Tell how even and how different the bits of a model are, and how full its buckets."""
    known = there.model(model).statistics
    about: dict[str, Any] = known._asdict() | {
        "sizes": [size._asdict() for size in known.sizes],
        "findings": [finding._asdict() for finding in known.findings],
        "precision": known.precision._asdict() if known.precision else None,
        "largest": [
            {"size": bucket.size, "items": [_item(there, item) for item in bucket.ids]}
            for bucket in known.largest
        ],
    }
    return schemas.StatisticsOut(**about)


@router.get("/models/{model}/base/{number}/picture", tags=["models"])
def base_picture(there: There, model: int, number: int) -> Response:
    """Draw a base point, where vectors are pixels; as PNG."""
    return _png(there.base_picture(model, number))


@router.get("/items/{item}", tags=["items"])
def item(there: There, item: int) -> schemas.Item:
    """Tell what is known of an item."""
    there.query(f"item:{item}")
    return _item(there, item)


@router.get("/items/{item}/picture", tags=["items"])
def picture(there: There, item: int) -> Response:
    """Give an item's picture, made small; as PNG."""
    return _png(there.picture(item))


@router.get("/search", tags=["search"])
def search(there: There, query: Key, model: Model = 0, k: K = 10) -> schemas.Found:
    """Find the items with the nearest codes."""
    asked, shown = there.query(query), there.model(model)
    found = there.nearest(asked, shown, k)
    code = there.code(asked, shown)
    return schemas.Found(
        query=schemas.QueryAbout(
            key=asked.key,
            title=asked.title,
            item=None if asked.item is None else _item(there, asked.item),
            label=there.label(asked.item),
            picture=asked.picture,
            position=there.position(asked, shown),
            code=code.packed.tobytes().hex(),
            has_vector=asked.vector is not None,
        ),
        n_bits=shown.coded.n_bits,
        hits=_hits(there, shown, code, found.ids[0], found.distances[0]),
    )


@router.get("/exact", tags=["search"])
async def exact(
    request: Request, there: There, query: Key, model: Model = 0, k: K = 10
) -> schemas.Exact:
    """Find the items with the nearest vectors; their codes are those of a model."""
    asked, shown = there.query(query), there.model(model)
    # One at a time: a scan takes all cores, and searches by code should not wait behind many.
    turn: anyio.CapacityLimiter = request.app.state.scans
    found = await anyio.to_thread.run_sync(there.exact, asked, k, limiter=turn)
    code = there.code(asked, shown)
    return schemas.Exact(hits=_hits(there, shown, code, found.ids[0], found.distances[0]))


@router.get("/within", tags=["search"])
def within(
    there: There,
    query: Key,
    radius: Annotated[int, Query(ge=0, le=1024)],
    model: Model = 0,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
) -> schemas.Within:
    """Find the items within a Hamming radius, and how many there are."""
    asked, shown = there.query(query), there.model(model)
    counts = there.spread(asked, shown).within
    count = int(counts[min(radius, shown.coded.n_bits)])
    code = there.code(asked, shown)
    hits: list[schemas.Hit] = []
    if wanted := min(limit, count):
        found = there.nearest(asked, shown, wanted)
        hits = _hits(there, shown, code, found.ids[0], found.distances[0])
    return schemas.Within(radius=radius, count=count, hits=hits)


@router.get("/spread", tags=["search"])
def spread(there: There, query: Key, model: Model = 0) -> schemas.SpreadOut:
    """Count the items within every radius, and give the distances of those on the map."""
    asked, shown = there.query(query), there.model(model)
    counts = there.spread(asked, shown)
    return schemas.SpreadOut(
        within=counts.within.tolist(),
        alike=None if counts.alike is None else counts.alike.tolist(),
        sample=there.sample_distances(asked, shown),
    )


@router.post("/uploads", tags=["search"], openapi_extra={
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
})  # fmt: skip
async def upload(request: Request, there: There) -> schemas.Uploaded:
    """Take in a picture (PNG, JPEG, GIF, WebP, BMP), a .npy file, or numbers as text."""
    # Few at a time, since each may unpack to much more than was sent.
    async with request.app.state.uploads:
        content = await request.body()
        taken = await anyio.to_thread.run_sync(there.upload, content)
    return schemas.Uploaded(
        key=taken.key, n_features=len(taken.vector), picture=there.query(taken.key).picture
    )


@router.get("/uploads/{name}/picture", tags=["search"])
def uploaded_picture(there: There, name: str) -> Response:
    """Give the picture that was uploaded, made small; as PNG."""
    kept = there.uploads[f"upload:{name}"].picture
    if kept is None:
        raise queries.Unknown("This upload is no picture.")
    return _png(kept)


def create_app(collection: Collection, rules: Rules) -> ASGIApp:
    """Make the application.

    Parameters
    ----------
    collection
        What to show.
    rules
        Who may ask.
    """
    app = FastAPI(
        title="bitfold explorer",
        version=__version__,
        description="Send the token as a header, Authorization: Bearer. An error is one sentence.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        responses={status: {"model": schemas.Problem} for status in (403, 404, 422)},
    )
    app.state.collection = collection
    app.include_router(router)
    app.add_api_route("/", _page("index.html"), include_in_schema=False)
    app.add_api_route("/docs", _page("docs.html"), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=PAGE), "static")
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _sentence(status))
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unforeseen)
    return Guard(app, rules)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Few threads, since each keeps room for a block of vectors: requests queue instead.
    anyio.to_thread.current_default_thread_limiter().total_tokens = 2 + n_threads()
    app.state.scans = anyio.CapacityLimiter(1)
    app.state.uploads = anyio.CapacityLimiter(_UPLOADS_AT_ONCE)
    yield


_STATUS: dict[type[Exception], int] = {
    queries.Unknown: 404,
    TooLong: 413,
    NoPicture: 422,
    ValueError: 422,
    TypeError: 422,
}


def _sentence(status: int) -> Any:
    def answer(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": " ".join(str(error).split())}, status)

    return answer


def _http_problem(request: Request, error: Any) -> JSONResponse:
    what = "This address does not exist." if error.status_code == 404 else f"{error.detail}."
    return JSONResponse({"error": what}, error.status_code)


def _invalid(request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    name, came = first["loc"][-1], str(first.get("input"))
    message = first["msg"].removeprefix("Input ")
    sentence = f"{name} {message[0].lower()}{message[1:]}, got {came[:40]}."
    return JSONResponse({"error": sentence}, 422)


def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    """Answer; the error goes on to the server, which writes it to the terminal."""
    sentence = "The explorer could not answer; the terminal it runs in says why."
    return JSONResponse({"error": sentence}, 500)


def _page(name: str) -> Any:
    def page() -> FileResponse:
        return FileResponse(PAGE / name, media_type="text/html")

    return page


def _model_about(shown: Shown) -> schemas.ModelAbout:
    model = shown.coded
    return schemas.ModelAbout(
        name=model.name,
        method=type(model.hasher).__name__,
        n_bits=model.n_bits,
        n_features=model.hasher.n_features_in_,
        n_items=len(model.index),
        n_distinct=model.n_distinct,
        n_base=len(shown.plane.base),
    )


def _item(there: Collection, item: int) -> schemas.Item:
    return schemas.Item(
        id=str(item),
        label=there.label(item),
        text=there.items.text_of(item),
        picture=f"/api/items/{item}/picture" if there.items.has_picture(item) else None,
    )


def _hits(
    there: Collection, shown: Shown, code: Codes, ids: Any, distances: Any
) -> list[schemas.Hit]:
    # By exact distance an item can be found that the index of this model does not have.
    here = [int(item) for item in ids if int(item) in shown.coded]
    codes = shown.coded.codes(np.array(here, np.int64))
    packed = dict(zip(here, codes.packed, strict=True))
    hamming = dict(zip(here, models.distances(code, codes).tolist(), strict=True))
    return [
        schemas.Hit(
            **_item(there, item).model_dump(),
            distance=distance,
            hamming=hamming.get(item),
            code=packed[item].tobytes().hex() if item in packed else None,
        )
        for item, distance in zip(ids.tolist(), distances.tolist(), strict=True)
    ]


def _png(content: bytes) -> Response:
    return Response(content, media_type="image/png", headers=_KEPT_IN_BROWSER)


def _rounded(values: Any) -> list[float]:
    """Round to five digits, which no eye will see, for a shorter answer."""
    return [float(f"{value:.5g}") for value in values]
