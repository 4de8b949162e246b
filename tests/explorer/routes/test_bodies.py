"""JSON bodies: limited in time and size, and explained if they are invalid."""

from __future__ import annotations

import anyio
import pytest
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import Message

from bitfold.errors import DataError
from bitfold.explorer import request_body
from bitfold.explorer.request_body import BodyLedger, SlowClientError
from bitfold.explorer.routes import bodies
from bitfold.explorer.selection import SelectionRequest


def read(content: bytes, seconds: float = 0.0) -> SelectionRequest:
    """Read a body that arrives after some time."""
    app = Starlette()
    app.state.bodies = BodyLedger()

    async def receive() -> Message:
        await anyio.sleep(seconds)
        return {"type": "http.request", "body": content, "more_body": False}

    async def run() -> SelectionRequest:
        request = Request({"type": "http", "app": app, "headers": [], "method": "POST"}, receive)
        return await bodies.read_body(SelectionRequest)(request)

    found = anyio.run(run)
    assert app.state.bodies.n_bytes == 0
    return found


def test_a_body_is_checked() -> None:
    assert read(b'{"where": "a = 1"}').where == "a = 1"
    assert read(b'{"points": [3.0]}').points == [3]  # an integer for JSON Schema
    for content in (
        b'{"points": [1.5]}',
        b'{"points": [1e400]}',
        b"",
        b"{",
        b"[]",
        b'{"polygon": [[0, 0]]}',
        b'{"points": "x"}',
        b"\xff",
    ):
        with pytest.raises(RequestValidationError):
            read(content)


def test_a_slow_or_long_body_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_JSON_BYTES", 10)
    with pytest.raises(DataError, match="at most 0 MiB"):
        read(b'{"where": "a = 1"}')
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)
    with pytest.raises(SlowClientError):
        read(b"{}", seconds=5)


def test_the_description_is_that_of_the_model() -> None:
    content = bodies.describe_body(SelectionRequest)["requestBody"]["content"]
    assert "polygon" in content["application/json"]["schema"]["properties"]
