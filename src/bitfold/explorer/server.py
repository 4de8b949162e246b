"""The web server of the explorer."""

from __future__ import annotations

import ipaddress
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from bitfold._threads import serial_blas
from bitfold._types import ProgressCallback
from bitfold.explorer.address import BACKLOG, ListenAddress
from bitfold.explorer.app import create_app
from bitfold.explorer.connection import TimedConnection
from bitfold.explorer.guard import AccessRules
from bitfold.explorer.startup import Startup
from bitfold.explorer.workspace import Workspace

_MAX_CONNECTIONS = 4096


def serve(
    prepare: Callable[[ProgressCallback], Workspace],
    address: ListenAddress,
    hosts: tuple[str, ...],
    on_start: Callable[[], None],
) -> None:
    """Serve until Ctrl-C; the page shows progress until the workspace is prepared.

    Parameters
    ----------
    prepare
        Returns what to show; called in a thread, with a progress callback.
    address
        Where to listen.
    hosts
        Additional names of the server.
    on_start
        Called once the server listens.

    Raises
    ------
    BaseException
        The error of ``prepare``, which ends the server.
    """
    names = tuple(host.lower() for host in (*hosts, *_host_names(address.host)))
    rules = AccessRules(address.token, address.port, address.loopback, names)
    startup = Startup()
    server = _Server(configure(create_app(startup, rules)), on_start)
    _allow_many_connections()
    # A daemon, so that Ctrl-C does not wait for it.
    threading.Thread(target=startup.run, args=(prepare, server.stop), daemon=True).start()
    # One request is too little work for several cores, and many requests use them all anyway.
    with serial_blas():
        server.run([address.listener])
    if startup.error is not None:
        raise startup.error


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


class BackgroundServer:
    """A server in a thread, for notebooks; it ends with the process.

    Parameters
    ----------
    workspace
        What to show.
    address
        Where to listen; only this machine should reach it.
    """

    def __init__(self, workspace: Workspace, address: ListenAddress) -> None:
        rules = AccessRules(address.token, address.port, address.loopback, is_framed=True)
        self._started = threading.Event()
        app = create_app(Startup(workspace), rules)
        self._server = _Server(configure(app), self._started.set)
        self._address = address
        self._thread = threading.Thread(target=self._run, name="bitfold-explorer", daemon=True)

    def start(self, seconds: float) -> None:
        """Start the thread, and wait until the server listens."""
        self._thread.start()
        if not self._started.wait(seconds):
            raise TimeoutError(f"The explorer did not start within {seconds:g} seconds.")

    def stop(self, seconds: float) -> None:
        """Stop the server, and wait for its thread."""
        self._server.stop()
        self._thread.join(seconds)
        self._address.listener.close()

    def _run(self) -> None:
        self._server.run([self._address.listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, then call back."""
        await super().startup(sockets)
        self._on_start()

    def stop(self) -> None:
        """End the server soon; any thread may call this."""
        self.should_exit = True


def _host_names(host: str) -> tuple[str, ...]:
    """Return the host if it is a name; IP addresses are accepted without being listed."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return (host,)
    return ()
