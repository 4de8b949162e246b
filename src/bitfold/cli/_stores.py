"""Stores on the command line: which engine an address belongs to."""

from __future__ import annotations

import re
from typing import Any

import typer

from bitfold.stores import FaissStore, LanceStore, PgvectorStore, Store

ADDRESS_HELP = (
    "postgresql://user@host/database, a .faiss file, or a folder or address (s3://…) of LanceDB. "
    "Use PGPASSWORD or ~/.pgpass to keep a password off the command line."
)

POSTGRES_ADDRESS = re.compile(
    r"\s*(postgres.*://|(host|hostaddr|port|dbname|user|password|service)\s*=)", re.I
)
"""The start of a URL or a connection string, even of one with a mistake.

Anything that may contain a password is left to the Postgres store, which never repeats it.
"""

LANCEDB_SCHEMES = ("s3", "s3+ddb", "gs", "az", "db", "file", "memory")
"""Kinds of addresses that LanceDB accepts, next to folders."""

TABLE_STORES: dict[str, Any] = {"postgres": PgvectorStore, "lancedb": LanceStore}
"""Stores that hold tables, by engine."""


def find_engine(address: str) -> str:
    """Return the engine of an address: postgres, faiss or lancedb; raise for other databases."""
    if POSTGRES_ADDRESS.match(address):
        return "postgres"
    scheme, separator, _ = address.partition("://")
    if separator and scheme.lower() not in LANCEDB_SCHEMES:
        raise typer.BadParameter(
            f"{scheme}:// is not supported. Use postgresql://, a .faiss file, or a folder or "
            "address of LanceDB."
        )
    return "faiss" if address.endswith(".faiss") else "lancedb"


def format_address(address: str, table: str | None) -> str:
    """Return a name of the store that contains no password."""
    if find_engine(address) == "postgres":
        return f"table {table} in Postgres"
    return address if table is None else f"table {table} in {address}"


def check_table(address: str, table: str | None) -> None:
    """Raise if a table is given for faiss, or missing for another engine."""
    if find_engine(address) == "faiss":
        if table is not None:
            raise typer.BadParameter("--table cannot be used with a .faiss file.")
    elif table is None:
        raise typer.BadParameter("--table is needed for Postgres and LanceDB.")


def open_store(address: str, table: str | None, n_bits: int | None) -> Store:
    """Open a store; only a faiss file needs the code length."""
    engine = find_engine(address)
    if engine == "faiss":
        return FaissStore.open(address, n_bits)
    if n_bits is not None:
        raise typer.BadParameter("--bits cannot be used with a table, which stores its own.")
    store: Store = TABLE_STORES[engine].open(address, table)
    return store
