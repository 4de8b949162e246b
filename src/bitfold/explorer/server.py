"""The web server of the explorer."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from bitfold._threads import serial_blas
from bitfold.explorer.address import BACKLOG, ListenAddress
from bitfold.explorer.app import create_app
from bitfold.explorer.connection import TimedConnection
from bitfold.explorer.guard import AccessRules
from bitfold.explorer.workspace import Workspace

_MAX_CONNECTIONS = 4096


def serve(
    workspace: Workspace,
    address: ListenAddress,
    hosts: tuple[str, ...],
    on_start: Callable[[], None],
) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    workspace
        What to show.
    address
        Where to listen.
    hosts
        Additional names of the server.
    on_start
        Called once the server listens.
    """
    names = tuple(host.lower() for host in (*hosts, *_host_names(address.host)))
    rules = AccessRules(address.token, address.port, address.loopback, names)
    config = configure(create_app(workspace, rules))
    _allow_many_connections()
    # One request is too little work for several cores, and many requests use them all anyway.
    with serial_blas():
        _Server(config, on_start).run([address.listener])


def configure(app: ASGIApp) -> uvicorn.Config:
    """Return how to serve an application: quietly, with time limits for slow clients.

    Parameters
    ----------
    app
        The application.

    Returns
    -------
    uvicorn.Config
        The configuration.
    """
    return uvicorn.Config(
        app,
        http=TimedConnection,
        # Warnings are about malformed requests, which anyone can send.
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        backlog=BACKLOG,
        limit_concurrency=_MAX_CONNECTIONS,
        ws="none",
    )


def _allow_many_connections() -> None:
    """Raise the limit of open files, which is often 1,024, as far as the system allows."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * _MAX_CONNECTIONS
        if soft != resource.RLIM_INFINITY and soft < wanted:
            limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, then call back."""
        await super().startup(sockets)
        self._on_start()


def _host_names(host: str) -> tuple[str, ...]:
    """Return the host if it is a name; IP addresses are accepted without being listed."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return (host,)
    return ()
