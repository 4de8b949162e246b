"""Access control: the right host, the token, no other site's page, and security headers.

A page of another site can make a browser send requests to this machine, and by changing what its
own name resolves to it can even read the responses. So the Host header must name this server, the
token must be present, and nothing may be framed, embedded or loaded from elsewhere. Only the page
of a notebook may be framed, by pages of this machine.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bitfold.errors import BitfoldError
from bitfold.explorer.queries import MAX_UPLOAD_BYTES

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
)

HEADERS = {
    "content-security-policy": f"{_POLICY}'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

FRAMED_HEADERS = {name: value for name, value in HEADERS.items() if name != "x-frame-options"} | {
    "content-security-policy": (
        f"{_POLICY}'self' http://localhost:* http://127.0.0.1:* https://localhost:* "
        f"https://127.0.0.1:* vscode-webview:"
    )
}
"""Headers of a page that notebooks on this machine may show in a frame."""

_FORBIDDEN_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>bitfold explorer</title>
<link rel="stylesheet" href="/static/style.css"><main class="alone"><h1>bitfold explorer</h1>
<p>{message}</p></main></html>"""

_PUBLIC_PATHS = ("/static/",)
"""Files of the package, which are not secret; the page above needs them."""

_MAX_LENGTH_DIGITS = 20


@dataclass(frozen=True)
class AccessRules:
    """What a request must have.

    Parameters
    ----------
    token
        The secret in the address that was printed.
    port
        Distinguishes the cookies of several explorers on one machine.
    loopback
        Whether only this machine can reach the server.
    hosts
        Additional names of the server.
    is_framed
        Whether a notebook on this machine shows the page in a frame.
    """

    token: str
    port: int
    loopback: bool = True
    hosts: tuple[str, ...] = ()
    is_framed: bool = False

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return f"bitfold-explorer-{self.port}"

    def accepts_host(self, host: str) -> bool:
        """Return whether a Host header names this server.

        Starlette's ``TrustedHostMiddleware`` cannot express this rule: an IP address cannot be
        made to point elsewhere, so any is accepted, but only known names are.
        """
        name = _host_name(host)
        if name in ("localhost", *self.hosts):
            return True
        if not self.loopback and name == socket.gethostname().lower():
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback

    def accepts_token(self, token: str) -> bool:
        """Return whether this is the token, in constant time."""
        return hmac.compare_digest(token.encode(), self.token.encode())


class Guard:
    """Pass a request to the application, or reject it.

    Parameters
    ----------
    app
        The application.
    rules
        What a request must have.
    """

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self.app = app
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        if scope["type"] != "http":
            return  # web sockets are not used here; not accepting one closes it
        request = Request(scope)
        headers = FRAMED_HEADERS if self.rules.is_framed else HEADERS
        send = _add_headers(send, headers, self._new_cookie(request))
        problem = self._find_problem(request)
        if problem is None:
            await self.app(scope, _LimitedBody(receive), send)
        else:
            await _rejection(request, *problem)(scope, receive, send)

    def _find_problem(self, request: Request) -> tuple[int, str] | None:
        """Return the status and message of a rejection, or None."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if malformed := _find_malformed(request):
            return 400, f"The header {malformed} is malformed."
        if not self.rules.accepts_host(host):
            return 421, "The server does not accept this host name; use the printed address."
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "Pages of other sites cannot send requests here."
        if request.scope["path"].startswith(_PUBLIC_PATHS):
            return None
        cookie = request.cookies.get(self.rules.cookie, "")
        tokens = (_query_token(request), _bearer_token(request), cookie)
        if not any(self.rules.accepts_token(token) for token in tokens if token):
            return 403, "Open the address that bitfold explore printed; it contains the token."
        if int(request.headers.get("content-length", "0")) > MAX_UPLOAD_BYTES:
            return 413, str(UploadTooLargeError())
        return None

    def _new_cookie(self, request: Request) -> str | None:
        """Return the cookie that replaces the token in the address, after its first use."""
        token = _query_token(request)
        if not token or not self.rules.accepts_token(token):
            return None
        return f"{self.rules.cookie}={self.rules.token}; Path=/; HttpOnly; SameSite=Strict"


class UploadTooLargeError(BitfoldError):
    """A request body is longer than allowed."""

    def __init__(self) -> None:
        super().__init__(f"The upload is larger than {MAX_UPLOAD_BYTES >> 20} MiB.")


class _LimitedBody:
    """Count the bytes of a body as they arrive, and stop at the limit."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._n_left = MAX_UPLOAD_BYTES

    async def __call__(self) -> Message:
        message = await self._receive()
        self._n_left -= len(message.get("body", b""))
        if self._n_left < 0:
            raise UploadTooLargeError
        return message


def _add_headers(send: Send, added: dict[str, str], cookie: str | None) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(added)
            headers.setdefault("cache-control", "no-store")
            if cookie:
                headers.append("set-cookie", cookie)
        await send(message)

    return send_with_headers


def _rejection(request: Request, status: int, message: str) -> Response:
    # The rest of a body that is too long is not read.
    headers = {"connection": "close"} if status == 413 else None
    if request.scope["path"] in ("/", "/docs"):
        return HTMLResponse(_FORBIDDEN_PAGE.format(message=message), status, headers)
    return JSONResponse({"error": message}, status, headers)


def _query_token(request: Request) -> str:
    return request.query_params.get("token", "")


def _bearer_token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _find_malformed(request: Request) -> str:
    """Return the name of the first header that cannot be parsed, or an empty string."""
    parsers: dict[str, Callable[[str], object]] = {
        "Host": lambda host: urlsplit(f"//{host}").port,
        "Origin": lambda origin: urlsplit(origin).port,
        "Content-Length": _parse_length,
    }
    for name, parse in parsers.items():
        try:
            parse(request.headers.get(name, "0" if name == "Content-Length" else ""))
        except ValueError:
            return name
    return ""


def _parse_length(text: str) -> int:
    # int() would also accept signs, spaces, underscores, and digits of other scripts.
    if not (text.isascii() and text.isdecimal()) or len(text) > _MAX_LENGTH_DIGITS:
        raise ValueError(text)
    return int(text)


def _host_name(host: str) -> str:
    """Return the name or address in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
