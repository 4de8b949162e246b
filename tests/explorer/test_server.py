"""A thousand concurrent requests: no error, similar response times, constant memory."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

import numpy as np
from tests.explorer.conftest import N_ITEMS, Server, resident_megabytes

REQUESTS = 1000


class Answer(NamedTuple):
    status: bytes
    seconds: float


async def get(server: Server, path: str) -> Answer:
    """Send a request over a new connection."""
    began = time.perf_counter()
    host, port = server.origin.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {server.token}"]
    writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
    content = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert content.endswith(b"}") or b" 200 " not in content[:16]
    return Answer(content.split(b" ", 2)[1], time.perf_counter() - began)


async def at_once(server: Server) -> list[Answer]:
    paths = [f"/api/search?query=item:{i % N_ITEMS}&model={i % 2}" for i in range(REQUESTS)]
    return await asyncio.gather(*(get(server, path) for path in paths))


def test_thousand_concurrent_searches(server: Server) -> None:
    asyncio.run(at_once(server))  # allocates the memory of connections and threads
    before = resident_megabytes(server.process.pid)
    rounds = [asyncio.run(at_once(server)) for _ in range(2)]
    grown = resident_megabytes(server.process.pid) - before
    for answers in rounds:
        assert {answer.status for answer in answers} == {b"200"}
        seconds = np.array([answer.seconds for answer in answers])
        assert np.percentile(seconds, 99) < 20 * np.percentile(seconds, 50)
    assert grown < 16
