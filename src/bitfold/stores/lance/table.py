"""A LanceDB table: reading it in batches, one version of it, and the next id that it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np

from bitfold._types import Ids
from bitfold.stores.lance.connect import clear

_NEXT, _AT = b"bitfold.next_id", b"bitfold.next_id_at"
"""Kept with the id column: the next id, and the version of the table it was right for."""

_BATCH_ROWS = 1 << 18
_IDS_AT_ONCE = 1 << 14
"""Ids looked for by one filter."""

_COMPARE = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def condition(column: str, operator: str, value: Any) -> Any:
    """Return one condition of the user's as LanceDB's expression."""
    from lancedb.expr import col, lit

    named = col(column)
    if operator in _COMPARE:
        return _COMPARE[operator](named, lit(value))
    if not value:
        # Nothing is in an empty list; what is missing is neither in nor out of it.
        return (named == named) if operator == "not in" else ~(named == named)
    inside = named.isin(value)
    return ~inside if operator == "not in" else inside


class Table:
    """A table whose rows have ids.

    Parameters
    ----------
    engine
        LanceDB's own.
    id_column
        The column that tells its rows apart.
    """

    def __init__(self, engine: Any, id_column: str) -> None:
        self.engine = engine
        self._id = id_column

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one version, whatever is written meanwhile."""
        with self.working():
            self.engine.checkout(self.engine.version)
        try:
            yield
        finally:
            with self.working():
                self.engine.checkout_latest()

    def read(self, wanted: list[str], where: Any) -> Iterator[Any]:
        """Rows that meet conditions, gathered until there are enough of them."""
        import pyarrow as pa

        asked = self.engine.search().select(wanted)
        if where is not None:
            asked = asked.where(where)
        with self.working():
            held: list[Any] = []
            for batch in asked.to_batches(_BATCH_ROWS):
                held.append(batch)
                if sum(map(len, held)) >= _BATCH_ROWS:
                    yield pa.Table.from_batches(held)
                    held = []
            if held:
                yield pa.Table.from_batches(held)

    def is_in(self, ids: Ids) -> Any:
        """Return the condition that a row is one of these."""
        from lancedb.expr import col

        return col(self._id).isin(ids.tolist())

    def found(self, ids: Ids, wanted: list[str]) -> Any:
        """The rows of some of these ids, as they come."""
        import pyarrow as pa

        pieces = [ids[i : i + _IDS_AT_ONCE] for i in range(0, len(ids), _IDS_AT_ONCE)]
        tables = [table for piece in pieces for table in self.read(wanted, self.is_in(piece))]
        if tables:
            return pa.concat_tables(tables)
        with self.working():
            return pa.schema([self.engine.schema.field(name) for name in wanted]).empty_table()

    def present(self, ids: Ids) -> Ids:
        """Which of these ids there are."""
        return np.asarray(self.found(ids, [self._id])[self._id].to_numpy(), np.int64)

    def next_id(self) -> int:
        """The id after the largest ever given.

        It is kept with the id column. Where the table was changed since, by a load that died
        before it could note this or by another program, the ids are looked at.
        """
        with self.working():
            kept = self.engine.schema.field(self._id).metadata or {}
            version = self.engine.version
        noted = kept.get(_NEXT, b"0")
        next_id = int(noted) if noted.isdigit() else 0
        if kept.get(_AT) == b"%d" % version:
            return next_id
        tables = filter(len, self.read([self._id], None))
        largest = [int(table[self._id].to_numpy().max()) for table in tables]
        return max([next_id, *(number + 1 for number in largest)])

    def keep(self, next_id: int) -> None:
        """Note the next id, and that it is right for the version this makes."""
        with self.working():
            noted = {_NEXT.decode(): str(next_id), _AT.decode(): str(self.engine.version + 1)}
            self.engine.update_field_metadata({"path": self._id, "metadata": noted})

    @contextmanager
    def working(self) -> Iterator[None]:
        """Put what goes wrong in LanceDB into one sentence."""
        with clear(f"table {self.engine.name!r}"):
            yield
