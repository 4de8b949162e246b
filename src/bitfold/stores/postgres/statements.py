"""What is said to Postgres: statements about one table, its ids, conditions and codes as text.

Statements are ours; names are put into them as identifiers, and numbers as literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bitfold.codes import Codes
from bitfold.errors import MissingStoreError
from bitfold.search import ids as numbers
from bitfold.stores.postgres.connect import Place, clear
from bitfold.stores.postgres.table import quote, quoted

CATALOG = """
SELECT a.attname, t.typname, a.atttypmod, a.attnotnull AND EXISTS (
    SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indpred IS NULL
    AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum
)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

SEQUENCE = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_get_serial_sequence(%s, %s)::regclass
"""

_COMPARE = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Table:
    """A table with ids and codes: cursors, statements about it, and the next id.

    Parameters
    ----------
    place
        The connection.
    name
        Its name, or ``schema.name``.
    id_column
        The column that tells its rows apart.
    code_column
        The column of codes.
    """

    def __init__(self, place: Place, name: str, id_column: str, code_column: str) -> None:
        self.place, self.name = place, name
        self._id, self._code = id_column, code_column

    def catalog(self) -> list[tuple[Any, ...]]:
        """Read the columns off the catalog: names, types, sizes, and which are keys."""
        with self.working() as cursor:
            found: list[tuple[Any, ...]] = cursor.execute(CATALOG, [quoted(self.name)]).fetchall()
        if not found:
            raise MissingStoreError(f"table {self.name!r} in {self.place.name} does not exist.")
        return found

    def next_id(self, cursor: Any) -> int:
        """The id after the largest ever given: by the column's sequence, and by what is there."""
        largest = cursor.execute(self.sql("SELECT max({id}) FROM {table}")).fetchone()[0]
        by_rows = 0 if largest is None else int(largest) + 1
        sequence = self._sequence(cursor)
        if sequence is None:
            return max(0, by_rows)
        statement = self.sql("SELECT last_value, is_called FROM {sequence}", sequence=sequence)
        last, called = cursor.execute(statement).fetchone()
        return max(0, by_rows, int(last) + int(called))

    def keep(self, cursor: Any, next_id: int) -> None:
        sequence = self._sequence(cursor)
        if sequence is not None and next_id > 0:
            regclass = ".".join(map(quote, sequence))
            cursor.execute("SELECT setval(%s::regclass, %s, true)", [regclass, next_id - 1])

    def _sequence(self, cursor: Any) -> tuple[str, str] | None:
        """The sequence behind the id column, if it has one."""
        found = cursor.execute(SEQUENCE, [quoted(self.name), self._id]).fetchone()
        return tuple(found) if found else None

    def sql(self, text: str, **parts: Any) -> Any:
        """Put names and numbers into one of our statements, each quoted as what it is."""
        from psycopg import sql

        own = {"id": self._id, "code": self._code}
        filled: dict[str, Any] = {name: sql.Identifier(value) for name, value in own.items()}
        filled["table"] = sql.Identifier(*self.name.split("."))
        for name, part in parts.items():
            filled[name] = composed(part)
        return sql.SQL(text).format(**filled)

    @contextmanager
    def working(self, binary: bool = False) -> Iterator[Any]:
        """A cursor in a transaction, or within the one that is open."""
        from psycopg.rows import tuple_row

        connection = self.place.connection
        with (
            clear(f"table {self.name!r} in {self.place.name}"),
            connection.transaction(),
            connection.cursor(binary=binary, row_factory=tuple_row) as cursor,
        ):
            yield cursor


@contextmanager
def distinct_ids() -> Iterator[None]:
    """Tell which id was there already."""
    from psycopg import errors

    try:
        yield
    except errors.UniqueViolation as error:
        taken = re.search(r"=\((-?\d+)\)", error.diag.message_detail or "")
        numbers.raise_taken("PgvectorStore", [taken[1] if taken else "some that are not"])


def condition(column: str, operator: str, value: Any) -> tuple[Any, Any]:
    """Return one condition of the user's as SQL, and the value that it is sent with."""
    from psycopg import sql

    tests = {"in": "{} = ANY(%s)", "not in": "{} <> ALL(%s)"}
    test = tests.get(operator) or f"{{}} {_COMPARE[operator]} %s"
    return sql.SQL(test).format(sql.Identifier(column)), value


def composed(part: Any) -> Any:
    """Return names, a list of columns or a tuple of parts, as identifiers; numbers as literals."""
    from psycopg import sql

    if isinstance(part, list):
        return sql.SQL(", ").join(map(sql.Identifier, part))
    if isinstance(part, tuple):
        return sql.Identifier(*part)
    return part if isinstance(part, sql.Composable) else sql.Literal(part)


def texts(codes: Codes) -> list[str]:
    """Return codes as text of 0 and 1, which Postgres reads as bits."""
    return [row.tobytes().decode() for row in codes.unpack() + np.uint8(ord("0"))]
