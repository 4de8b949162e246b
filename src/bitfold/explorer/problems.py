"""Responses to requests that fail: one sentence, and the HTTP status of the exception."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from bitfold.errors import DataError, ParameterError
from bitfold.explorer.guard import UploadTooLargeError
from bitfold.explorer.queries import NotFoundError
from bitfold.explorer.request_body import OverloadedError, SlowClientError
from bitfold.explorer.startup import NotReadyError

_STATUS: dict[type[Exception], int] = {
    ClientDisconnect: 400,
    NotFoundError: 404,
    SlowClientError: 408,
    UploadTooLargeError: 413,
    ParameterError: 422,
    DataError: 422,
    NotReadyError: 503,
    OverloadedError: 503,
}
"""HTTP status by exception class; any other exception is 500."""

_UNREAD_BODY = (408, 413, 503)
"""HTTP status of requests whose body was not received completely."""


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every exception.

    Parameters
    ----------
    app
        The application.
    """
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _error_handler(status))
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(Exception, _handle_unexpected_error)


def _error_handler(status: int) -> Any:
    def respond(request: Request, error: Exception) -> JSONResponse:
        return _problem(status, " ".join(str(error).split()))

    return respond


def _handle_http_error(request: Request, error: Any) -> JSONResponse:
    is_unknown = error.status_code == 404
    message = "This address does not exist." if is_unknown else f"{error.detail}."
    response = _problem(error.status_code, message)
    response.headers.update(error.headers or {})  # such as Allow
    return response


def _handle_invalid_request(request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    # A body that is not JSON has no location.
    name, value = (first["loc"] or ("the body",))[-1], str(first.get("input"))
    message = first["msg"].removeprefix("Input ")
    return _problem(422, f"{name} {message[0].lower()}{message[1:]}, got {value[:40]}.")


def _handle_unexpected_error(request: Request, error: Exception) -> JSONResponse:
    """Return a short message; the server writes the error to the terminal."""
    return _problem(500, "Internal error; see the terminal in which the explorer runs.")


def _problem(status: int, message: str) -> JSONResponse:
    # The rest of a body is not read.
    headers = {"connection": "close"} if status in _UNREAD_BODY else None
    return JSONResponse({"error": message}, status, headers)
