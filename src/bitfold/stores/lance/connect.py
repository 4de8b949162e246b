"""LanceDB itself: connecting to it, opening a table, and one sentence for what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from os import fspath
from typing import Any

from bitfold._types import Ids, PathLike
from bitfold.errors import StoreError
from bitfold.stores.lance.rows import Rows


def lancedb_module() -> Any:
    try:
        import lancedb
    except ImportError:
        extra = 'pip install "bitfold[lancedb]"'
        raise ImportError(f"LanceStore needs LanceDB: {extra}.") from None
    return lancedb


def connect(uri: PathLike, storage_options: Mapping[str, str] | None) -> Any:
    lancedb = lancedb_module()
    with clear(shown(uri)):
        # An interval of none: every read looks for the newest version.
        return lancedb.connect(
            fspath(uri),
            read_consistency_interval=timedelta(0),
            storage_options=dict(storage_options) if storage_options else None,
        )


def shown(uri: PathLike) -> str:
    """An address without what may be a secret in it."""
    return re.sub(r"(?<=://)[^/@]*@|(?<=\?).*", "…", str(uri)) if "://" in str(uri) else str(uri)


def opened_table(base: Any, table: str, what: str) -> Any:
    """Open a table; None where there is none, or only what a killed load left of a new one."""
    with clear(what):
        try:
            return base.open_table(table)
        except ValueError as error:
            if "was not found" in str(error):
                return None
            raise


@contextmanager
def written(batches: Iterable[Any], schema: Any, rows: Rows) -> Iterator[Any]:
    """Give LanceDB rows to read; what goes wrong in reading them is raised as it was."""
    import pyarrow as pa

    try:
        yield pa.RecordBatchReader.from_batches(schema, batches)
    except Exception:
        if rows.problem is not None:
            raise rows.problem from None
        raise


def nothing(ids: Ids) -> Ids:
    """Which of these ids a new table has."""
    return ids[:0]


@contextmanager
def clear(what: str) -> Iterator[None]:
    """Turn what LanceDB raises, many lines of Rust, into one sentence."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        words = str(error).strip().split("\n")[0].split(", /")[0].rstrip(". ")
        raise StoreError(f"{what} cannot be used: {words}.") from None
