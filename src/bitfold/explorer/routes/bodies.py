"""JSON bodies of requests, received within the limits of uploads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from bitfold.errors import DataError
from bitfold.explorer.request_body import ReceivedBody

MAX_JSON_BYTES = 4 << 20
"""Maximum size of a JSON body: in memory it is many times larger."""

T = TypeVar("T", bound=BaseModel)


def read_body(model: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return a dependency that reads a JSON body.

    FastAPI itself would wait for a slow client without limit, and keep every body in memory.

    Parameters
    ----------
    model
        What the body must be.

    Returns
    -------
    Callable
        Returns the checked body of a request.
    """

    async def read(request: Request) -> T:
        with ReceivedBody(request.app.state.bodies) as body:
            await body.receive(request)
            content = body.read()
        if len(content) > MAX_JSON_BYTES:
            raise DataError(f"The request must have at most {MAX_JSON_BYTES >> 20} MiB.")
        try:
            return model.model_validate_json(content, strict=True)
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False)) from None

    return read


def describe_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a JSON body for OpenAPI.

    Parameters
    ----------
    model
        What the body must be.

    Returns
    -------
    dict
        The value of ``openapi_extra`` of a route.
    """
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}
