"""Where a store is: told from what a user types."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from bitfold.stores import Store

_POSTGRES = re.compile(
    r"\s*(postgres.*://|(host|hostaddr|port|dbname|user|password|service)\s*=)", re.I
)
"""The beginning of a URL, or of a connection string; also of one with a mistake in it.

Whatever may hold a password is Postgres's to judge, which does not repeat it.
"""

_FAISS = ".faiss"


def engine_of(place: str) -> str:
    """Return which engine a place belongs to: by its beginning, its end, or else LanceDB."""
    if _POSTGRES.match(place):
        return "postgres"
    return "faiss" if place.endswith(_FAISS) else "lancedb"


def shown(place: str, table: str | None) -> str:
    """Name a place without what may be a password in it."""
    if engine_of(place) == "postgres":
        return f"table {table} in Postgres"
    return place if table is None else f"table {table} in {place}"


def check_table(place: str, table: str | None) -> str | None:
    """Raise unless there is a table where the engine has tables."""
    if engine_of(place) == "faiss":
        if table is not None:
            raise typer.BadParameter("--table must be left out for a .faiss file.")
    elif table is None:
        raise typer.BadParameter("--table must name a table, got none.")
    return table


def opened(place: str, table: str | None, n_bits: int | None) -> Store:
    """Open the store at a place.

    Parameters
    ----------
    place
        A Postgres URL, a .faiss file, or a directory or address of LanceDB.
    table
        Its table, except for faiss.
    n_bits
        Length of the codes, which a faiss file does not know exactly.
    """
    from bitfold.stores import FaissStore, LanceStore, PgvectorStore

    engine = engine_of(place)
    if engine == "faiss":
        return FaissStore.open(place, n_bits)
    if n_bits is not None:
        raise typer.BadParameter("--bits must be left out: the table knows its codes.")
    kinds: dict[str, Any] = {"postgres": PgvectorStore, "lancedb": LanceStore}
    store: Store = kinds[engine].open(place, table)
    return store


def check_new(path: Path, replace: bool) -> None:
    """Raise if something is there that may not be replaced."""
    if path.exists() and not replace:
        raise FileExistsError(f"{path} exists already; give --replace to replace it.")
