"""The application: the page and the JSON API behind their access control."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from bitfold._threads import count_threads
from bitfold._version import __version__
from bitfold.explorer import problems, schemas
from bitfold.explorer.guard import AccessRules, Guard
from bitfold.explorer.request_body import BodyLedger
from bitfold.explorer.routes import analysis, items, maps, search, selection
from bitfold.explorer.startup import Startup

PAGE = Path(__file__).parent / "page"


def create_app(startup: Startup, rules: AccessRules) -> ASGIApp:
    """Create the application.

    Parameters
    ----------
    startup
        What to show, when it is ready.
    rules
        What a request must have.

    Returns
    -------
    ASGIApp
        The application behind its access control.
    """
    app = FastAPI(
        title="bitfold explorer",
        version=__version__,
        description="Send the token in the header Authorization: Bearer. Errors are one sentence.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        responses={status: {"model": schemas.Problem} for status in (403, 404, 422, 503)},
    )
    app.state.startup = startup
    app.state.is_framed = rules.is_framed
    for routes in (items, maps, search, analysis, selection):
        app.include_router(routes.router)
    app.add_api_route("/", _page("index.html"), include_in_schema=False)
    app.add_api_route("/docs", _page("docs.html"), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=PAGE), "static")
    problems.add_handlers(app)
    return Guard(app, rules)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Few threads, because each allocates a block of vectors; further requests wait.
    anyio.to_thread.current_default_thread_limiter().total_tokens = 2 + count_threads()
    app.state.scans = anyio.CapacityLimiter(1)
    app.state.uploads = anyio.CapacityLimiter(1)
    app.state.bodies = BodyLedger()
    yield


def _page(name: str) -> Any:
    def page() -> FileResponse:
        return FileResponse(PAGE / name, media_type="text/html")

    return page
