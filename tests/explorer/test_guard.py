"""Access control of a running explorer: hosts, tokens, other sites, headers, large bodies."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from tests.explorer.conftest import Server

from bitfold.explorer.guard import HEADERS, AccessRules, Guard


def test_body_without_a_length_is_limited(client: httpx.Client) -> None:
    response = client.post("/api/uploads", content=(bytes(1 << 20) for _ in range(18)))
    assert response.status_code == 413
    assert "16 MiB" in response.json()["error"]


def test_token_is_required(server: Server) -> None:
    for path in ("/api/about", "/openapi.json", "/docs", "/", "/api/items/1/image"):
        assert httpx.get(server.origin + path).status_code == 403
        assert httpx.get(server.origin + path, params={"token": "x"}).status_code == 403
        wrong = [(b"Authorization", f"Bearer {server.token[:-1]}é".encode())]
        assert httpx.get(server.origin + path, headers=wrong).status_code == 403


def test_first_visit_sets_a_cookie_that_replaces_the_token(server: Server) -> None:
    with httpx.Client() as visitor:
        first = visitor.get(server.url)
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert visitor.get(f"{server.origin}/api/about").status_code == 200
        assert "set-cookie" not in visitor.get(f"{server.origin}/?token=wrong").headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "10.0.0.1", "[::"])
def test_another_host_is_rejected(server: Server, host: str) -> None:
    headers = server.headers | {"Host": host}
    response = httpx.get(f"{server.origin}/api/about", headers=headers)
    assert response.status_code in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:80"])
def test_names_of_this_machine_are_accepted(server: Server, host: str) -> None:
    headers = server.headers | {"Host": host}
    assert httpx.get(f"{server.origin}/api/about", headers=headers).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_request_from_another_site_is_rejected(server: Server, origin: str) -> None:
    headers = server.headers | {"Origin": origin}
    response = httpx.post(f"{server.origin}/api/uploads", headers=headers, content=b"1")
    assert response.status_code == 403


def test_every_response_has_the_security_headers(server: Server) -> None:
    for path in ("/", "/api/about", "/api/nothing", "/static/app.js"):
        for headers in (server.headers, {}):
            answer = httpx.get(server.origin + path, headers=headers).headers
            assert {key: answer[key] for key in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["content-security-policy"]


MALFORMED = {
    "origin": {"Origin": "http://["},
    "origin port": {"Origin": "http://localhost:x"},
    "host": {"Host": "["},
    "host port": {"Host": "localhost:x"},
    "host with brackets": {"Host": "[::"},
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("has_token", [True, False])
def test_malformed_headers_get_400(server: Server, name: str, has_token: bool) -> None:
    headers = MALFORMED[name] | (server.headers if has_token else {})
    response = httpx.get(f"{server.origin}/api/about", headers=headers)
    assert response.status_code == 400
    assert "malformed" in response.json()["error"]


@pytest.mark.parametrize("length", ["1e3", "+1", "1_0", "٣", "9" * 5000])
def test_malformed_length_is_rejected(length: str) -> None:
    """h11 rejects these; another server might not."""
    headers = [(b"host", b"localhost"), (b"content-length", length.encode())]
    scope = {"type": "http", "path": "/api/about", "query_string": b"", "headers": headers}
    assert Guard(FastAPI(), AccessRules("x", 1))._find_problem(Request(scope)) == (
        400,
        "The header Content-Length is malformed.",
    )
