"""Who may ask: the right host, the token, no other site's page; and what every answer carries.

A page of another site can make a browser send requests to this machine, and by changing what its
own name resolves to even read the answers. So the Host header must name this server, the token
must come along, and nothing may be framed, embedded or loaded from elsewhere.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bitfold.explorer.queries import MOST_BYTES

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_FORBIDDEN_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>bitfold explorer</title>
<link rel="stylesheet" href="/static/style.css"><main class="alone"><h1>bitfold explorer</h1>
<p>{sentence}</p></main></html>"""

_OPEN = ("/static/",)
"""Files of the package, which are no secret, and which the page above is shown with."""


@dataclass(frozen=True)
class Rules:
    """What a request must have.

    Parameters
    ----------
    token
        What the address that was printed carries.
    port
        Tells the cookies of several explorers on one machine apart.
    loopback
        Whether only this machine can reach the server.
    hosts
        Names by which the server may be called, beside this machine's own.
    """

    token: str
    port: int
    loopback: bool = True
    hosts: tuple[str, ...] = ()

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return f"bitfold-explorer-{self.port}"

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server.

        An address cannot be made to point elsewhere, a name can: of names only the known ones.
        """
        name = _name_of(host)
        if name in ("localhost", *self.hosts):
            return True
        if not self.loopback and name == socket.gethostname().lower():
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback

    def admits(self, token: str) -> bool:
        """Whether this is the token; the time it takes tells nothing of it."""
        return hmac.compare_digest(token.encode(), self.token.encode())


class Guard:
    """Lets a request through, or answers it with one sentence.

    Parameters
    ----------
    app
        What is guarded.
    rules
        What a request must have.
    """

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app = app
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets here; not accepting one refuses it
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        given = _token_in_address(scope)
        send = _with_headers(send, scope, self._cookie_for(given))
        problem = self._problem(scope, headers, given)
        if problem is None:
            await self.app(scope, _Bounded(receive), send)
        else:
            await _raise_invalid(send, scope, *problem)

    def _problem(self, scope: Scope, headers: dict[str, str], given: str) -> tuple[int, str] | None:
        if not self.rules.knows(headers.get("host", "")):
            return 421, "This server is not known by that name; use the address that was printed."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return 403, "Pages of other sites may not ask here."
        if scope["path"].startswith(_OPEN):
            return None
        tokens = (given, _bearer(headers), self._in_cookie(headers))
        if not any(self.rules.admits(token) for token in tokens if token):
            return 403, "Open the address that bitfold explore printed: it carries the token."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, str(TooLong())
        return None

    def _in_cookie(self, headers: dict[str, str]) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.rules.cookie)
        except CookieError:
            return ""
        return cookie.value if cookie else ""

    def _cookie_for(self, given: str) -> str | None:
        """Return the cookie that saves a visitor from carrying the token in every address."""
        if not given or not self.rules.admits(given):
            return None
        return f"{self.rules.cookie}={self.rules.token}; Path=/; HttpOnly; SameSite=Strict"


class TooLong(Exception):
    """Raised when a body turns out longer than it may be."""

    def __init__(self) -> None:
        super().__init__(f"upload must have at most {MOST_BYTES >> 20} MiB, got more.")


class _Bounded:
    """Counts the bytes of a body as they come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = MOST_BYTES

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLong
        return message


def _with_headers(send: Send, scope: Scope, cookie: str | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {key.lower() for key, _ in message["headers"]}
            extra = dict(HEADERS)
            if b"cache-control" not in present:
                extra["cache-control"] = "no-store"
            if cookie:
                extra["set-cookie"] = cookie
            coded = [(key.encode(), value.encode()) for key, value in extra.items()]
            message = {**message, "headers": [*message["headers"], *coded]}
        await send(message)

    return sending


async def _raise_invalid(send: Send, scope: Scope, status: int, sentence: str) -> None:
    if scope["path"] == "/" or scope["path"] == "/docs":
        content, kind = _FORBIDDEN_PAGE.format(sentence=sentence).encode(), b"text/html"
    else:
        content, kind = json.dumps({"error": sentence}).encode(), b"application/json"
    length = str(len(content)).encode()
    headers = [(b"content-type", kind + b"; charset=utf-8"), (b"content-length", length)]
    # The rest of a body that is too long is not read.
    headers += [(b"connection", b"close")] if status == 413 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _token_in_address(scope: Scope) -> str:
    query: bytes = scope["query_string"]
    try:
        return parse_qs(query.decode("latin-1")).get("token", [""])[0]
    except ValueError:
        return ""


def _bearer(headers: dict[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _name_of(host: str) -> str:
    """Return the name or address in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
