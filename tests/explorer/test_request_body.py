"""Bodies of uploads: slow and vanished clients block nobody, and memory stays small."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect, Request
from tests.explorer.conftest import Server

from bitfold.explorer import request_body
from bitfold.explorer.request_body import (
    BodyLedger,
    OverloadedError,
    ReceivedBody,
    SlowClientError,
)


def begin_upload(server: Server, length: int, sent: bytes) -> socket.socket:
    """Send the head of an upload and a part of its body."""
    host, port = server.origin.removeprefix("http://").split(":")
    client = socket.create_connection((host, int(port)), timeout=10)
    head = (
        f"POST /api/uploads HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n"
    )
    client.sendall(head.encode() + sent)
    return client


def test_slow_uploads_do_not_block_others(
    server: Server, client: httpx.Client, digits: Path
) -> None:
    slow = [begin_upload(server, 1000, b"1") for _ in range(20)]
    try:
        content = (digits / "images" / "3.png").read_bytes()
        assert client.post("/api/uploads", content=content).status_code == 200
        # The slow ones have not been given up yet, so nobody waited for them.
        for one in slow:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)
    finally:
        for one in slow:
            one.close()


def test_clients_that_hang_up_cause_no_traceback(server: Server, client: httpx.Client) -> None:
    """The fixture of the server checks at the end that nothing was printed."""
    for sent in (b"", b"1", bytes(100_000)):
        begin_upload(server, 200_000, sent).close()
    time.sleep(0.2)
    assert client.get("/api/about").status_code == 200


def receive(messages: list[dict[str, Any]], ledger: BodyLedger) -> bytes:
    """Receive a body from ASGI messages; after the last one the client is silent."""

    async def next_message() -> Any:
        if not messages:
            await asyncio.sleep(60)
        return messages.pop(0)

    async def run() -> bytes:
        with ReceivedBody(ledger) as body:
            await body.receive(Request({"type": "http"}, next_message))
            return body.read()

    return asyncio.run(run())


def part(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize("size", [0, 1, 65_536, 1_000_000])
def test_a_body_is_received_whole(size: int) -> None:
    ledger = BodyLedger()
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    assert receive([part(body[: size // 2]), part(body[size // 2 :], more=False)], ledger) == body
    assert ledger.n_bytes == 0


def test_a_slow_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.1)
    ledger = BodyLedger()
    with pytest.raises(SlowClientError, match=r"0\.1 seconds"):
        receive([part(b"1")], ledger)
    assert ledger.n_bytes == 0


def test_bodies_that_fill_the_disk_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "MAX_WAITING_BYTES", 1000)
    ledger = BodyLedger()
    with pytest.raises(OverloadedError):
        receive([part(bytes(600)), part(bytes(600))], ledger)
    assert ledger.n_bytes == 0


def test_a_client_that_hangs_up_leaves_nothing() -> None:
    ledger = BodyLedger()
    with pytest.raises(ClientDisconnect):
        receive([part(bytes(600)), {"type": "http.disconnect"}], ledger)
    assert ledger.n_bytes == 0
