"""Runs the explorer: a web server until Ctrl-C."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

import uvicorn

from bitfold._threads import serial_blas
from bitfold.explorer.address import BACKLOG, Place
from bitfold.explorer.api import create_app
from bitfold.explorer.collection import Collection
from bitfold.explorer.guard import Rules

_MOST_CONNECTIONS = 4096


def serve(
    collection: Collection, place: Place, hosts: tuple[str, ...], started: Callable[[], None]
) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    collection
        What to show.
    place
        Where to listen.
    hosts
        Names by which the server may be called, beside this machine's own.
    started
        Called when it listens.
    """
    names = tuple(host.lower() for host in (*hosts, *_if_name(place.host)))
    rules = Rules(place.token, place.port, place.loopback, names)
    config = uvicorn.Config(
        create_app(collection, rules),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        backlog=BACKLOG,
        limit_concurrency=_MOST_CONNECTIONS,
        ws="none",
    )
    # One request is too little work for several cores, and many requests have them all anyway.
    with serial_blas():
        _Server(config, started).run([place.listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: Any = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._tell()


def _if_name(host: str) -> tuple[str, ...]:
    """Return the host if it is a name; an address is known without."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return (host,)
    return ()
