"""Slow, vanished and malformed clients: dropped after a time, without a traceback."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from bitfold.explorer import connection
from bitfold.explorer.server import configure

LONG_RESPONSE = 64 << 20
MAX_WAIT = 100
"""Seconds after which a wait has failed, even on a busy machine."""

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Send many bytes for /long and two for anything else."""
    if scope["type"] != "http":
        return
    body = bytes(LONG_RESPONSE) if scope["path"] == "/long" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(keep_alive: int) -> Iterator[uvicorn.Server]:
    """Serve in a thread."""
    config = configure(answer)
    config.lifespan, config.timeout_keep_alive = "off", keep_alive
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server
    server.should_exit = True
    thread.join(20)


@pytest.fixture
def server(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> Iterator[uvicorn.Server]:
    """A server with long time limits, or with the one that a test has; nothing may be logged."""
    limit = getattr(request, "param", MAX_WAIT)
    monkeypatch.setattr(connection, "HEAD_SECONDS", limit)
    monkeypatch.setattr(connection, "WRITE_SECONDS", limit)
    with caplog.at_level(logging.ERROR), serving(int(4 * limit)) as started:
        yield started
    assert [record.getMessage() for record in caplog.records] == []


@pytest.fixture
def port(server: uvicorn.Server) -> int:
    return int(server.servers[0].sockets[0].getsockname()[1])


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=MAX_WAIT)


def wait_for_end(client: socket.socket) -> None:
    """Read until the server hangs up; it is an error if it never does."""
    with suppress(ConnectionResetError):
        while client.recv(65536):
            pass


def read_response(client: socket.socket) -> bytes:
    """Read a short response, which may arrive in parts."""
    content = b""
    while not content.endswith(b"\r\n\r\nok"):
        part = client.recv(1000)
        assert part
        content += part
    return content


@pytest.mark.parametrize("server", [0.5], indirect=True)
@pytest.mark.parametrize("sent", [b"", b"GET / HT", REQUEST[:-2], REQUEST + b"GET"])
def test_an_unfinished_head_is_dropped(port: int, sent: bytes) -> None:
    start = time.monotonic()
    with connect(port) as client:
        client.sendall(sent)
        wait_for_end(client)
    assert time.monotonic() - start > 0.4  # not at once


@pytest.mark.parametrize("server", [0.5], indirect=True)
def test_single_bytes_do_not_extend_the_time(port: int) -> None:
    with connect(port) as client, pytest.raises(OSError):
        for byte in b"GET / HTTP/1.1\r\nHost: " + b"a" * 1000:
            client.sendall(bytes([byte]))
            time.sleep(0.02)


@pytest.mark.parametrize("server", [2], indirect=True)
def test_a_body_after_the_response_is_dropped(port: int) -> None:
    with connect(port) as client:
        client.sendall(REQUEST[:-2] + b"Content-Length: 1000\r\n\r\nx")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(b"x")
        wait_for_end(client)


@pytest.mark.parametrize("server", [0.5], indirect=True)
def test_an_unread_response_is_dropped(server: uvicorn.Server, port: int) -> None:
    with connect(port) as client:
        client.sendall(REQUEST.replace(b"/ ", b"/long ", 1))
        for wanted in (True, False):  # the server accepts the connection, and gives it up
            give_up = time.monotonic() + MAX_WAIT
            while bool(server.server_state.connections) is not wanted:
                assert time.monotonic() < give_up
                time.sleep(0.01)
        received = 0
        with pytest.raises(ConnectionResetError):
            while part := client.recv(1 << 20):
                received += len(part)
            raise ConnectionResetError  # closed instead of reset
        assert received < LONG_RESPONSE


@pytest.mark.parametrize("server", [2], indirect=True)
def test_a_connection_in_use_is_kept(port: int) -> None:
    with connect(port) as client:
        for _ in range(5):
            client.sendall(REQUEST)
            assert read_response(client).endswith(b"ok")
            time.sleep(0.6)


MALFORMED = {
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "length": b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "lengths": b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "name": b"GET / HTTP/1.1\r\nHost: a\r\nX Y: 1\r\n\r\n",
    "zero byte": b"GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
    "binary": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "long": b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 200_000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_requests_get_400(port: int, name: str) -> None:
    with connect(port) as client:
        client.sendall(MALFORMED[name])
        assert client.recv(1000).startswith(b"HTTP/1.1 400")


def test_a_malformed_body_after_the_response_ends_the_connection(port: int) -> None:
    with connect(port) as client:
        client.sendall(REQUEST[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(b"not a length\r\n")
        wait_for_end(client)


def test_clients_that_hang_up_are_not_logged(port: int) -> None:
    for sent in (b"", b"GET", REQUEST, REQUEST[:-2] + b"Content-Length: 9\r\n\r\nx"):
        for _ in range(20):
            with connect(port) as client:
                client.sendall(sent)
    with connect(port) as client:
        client.sendall(REQUEST)
        assert read_response(client).endswith(b"ok")
