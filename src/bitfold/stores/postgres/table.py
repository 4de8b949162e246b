"""A Postgres table: cursors, statements, the next id, and the digest of the model.

The text of statements is ours; names enter it as quoted identifiers and numbers as literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bitfold.errors import MissingStoreError
from bitfold.search import raise_duplicate_ids
from bitfold.stores.postgres.connection import PostgresDatabase, translate_errors
from bitfold.stores.postgres.schema import CATALOG_QUERY, quote_name, quote_table
from bitfold.stores.schema import ColumnNames

_SEQUENCE_QUERY = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_get_serial_sequence(%s, %s)::regclass
"""

_COMMENT_QUERY = """
SELECT col_description(c.oid, a.attnum), pg_has_role(c.relowner, 'USAGE')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.oid = to_regclass(%s) AND a.attname = %s
"""

_DIGEST_PREFIX = "bitfold model_digest="
"""Start of the comment on the code column that stores the digest."""


class PostgresTable:
    """A table with ids and codes.

    Parameters
    ----------
    database
        The connection.
    name
        Name of the table, or ``schema.name``.
    names
        Columns of ids, codes and vectors.
    """

    def __init__(self, database: PostgresDatabase, name: str, names: ColumnNames) -> None:
        self.database, self.name, self.names = database, name, names

    def describe(self) -> str:
        """Return the name of the table for error messages."""
        return self.database.describe(self.name)

    def read_catalog(self) -> list[tuple[Any, ...]]:
        """Return name, type, size and uniqueness of each column."""
        with self.cursor() as cursor:
            cursor.execute(CATALOG_QUERY, [quote_table(self.name)])
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        if not rows:
            raise MissingStoreError(f"{self.describe()} does not exist.")
        return rows

    def next_id(self, cursor: Any) -> int:
        """Return the id after the largest that was ever used: in the sequence or in the rows."""
        largest = cursor.execute(self.sql("SELECT max({id}) FROM {table}")).fetchone()[0]
        next_id = 0 if largest is None else max(0, int(largest) + 1)
        sequence = self._find_sequence(cursor)
        if sequence is None:
            return next_id
        statement = self.sql("SELECT last_value, is_called FROM {sequence}", sequence=sequence)
        last, is_called = cursor.execute(statement).fetchone()
        return max(next_id, int(last) + int(is_called))

    def store_next_id(self, cursor: Any, next_id: int) -> None:
        """Advance the sequence of the ids, if there is one."""
        sequence = self._find_sequence(cursor)
        if sequence is not None and next_id > 0:
            name = ".".join(map(quote_name, sequence))
            cursor.execute("SELECT setval(%s::regclass, %s, true)", [name, next_id - 1])

    def _find_sequence(self, cursor: Any) -> tuple[str, str] | None:
        row = cursor.execute(_SEQUENCE_QUERY, [quote_table(self.name), self.names.id]).fetchone()
        return tuple(row) if row else None

    def model_digest(self, cursor: Any) -> str | None:
        """Return the digest of the model whose codes are in the table, if it is known."""
        comment, _ = self._read_comment(cursor)
        if comment is None or not comment.startswith(_DIGEST_PREFIX):
            return None
        return str(comment).removeprefix(_DIGEST_PREFIX)

    def store_model_digest(self, cursor: Any, digest: str | None) -> None:
        """Store the digest, unless the code column has a comment or another owner."""
        comment, is_owner = self._read_comment(cursor)
        if digest is not None and comment is None and is_owner:
            statement = "COMMENT ON COLUMN {table}.{code} IS {comment}"
            cursor.execute(self.sql(statement, comment=_DIGEST_PREFIX + digest))

    def _read_comment(self, cursor: Any) -> tuple[str | None, bool]:
        """Return the comment on the code column, and whether it can be changed."""
        cursor.execute(_COMMENT_QUERY, [quote_table(self.name), self.names.code])
        comment, is_owner = cursor.fetchone()
        return comment, is_owner

    def sql(self, text: str, **values: Any) -> Any:
        """Fill in a statement: lists and tuples are identifiers, other values are literals."""
        from psycopg import sql

        return sql.SQL(text).format(
            id=sql.Identifier(self.names.id),
            code=sql.Identifier(self.names.code),
            table=sql.Identifier(*self.name.split(".")),
            **{name: _compose(value) for name, value in values.items()},
        )

    @contextmanager
    def cursor(self, *, binary: bool = False) -> Iterator[Any]:
        """Open a cursor in a transaction, or in the one that is open."""
        from psycopg.rows import tuple_row

        connection = self.database.connection
        with (
            translate_errors(self.describe()),
            connection.transaction(),
            connection.cursor(binary=binary, row_factory=tuple_row) as cursor,
        ):
            yield cursor


def _compose(value: Any) -> Any:
    """Return a list as column names, a tuple as a qualified name, other values as literals."""
    from psycopg import sql

    if isinstance(value, list):
        return sql.SQL(", ").join(map(sql.Identifier, value))
    if isinstance(value, tuple):
        return sql.Identifier(*value)
    return value if isinstance(value, sql.Composable) else sql.Literal(value)


@contextmanager
def translate_duplicates() -> Iterator[None]:
    """Raise a violation of the primary key as an error that names the id."""
    from psycopg import errors

    try:
        yield
    except errors.UniqueViolation as error:
        taken = re.search(r"=\((-?\d+)\)", error.diag.message_detail or "")
        raise_duplicate_ids([taken[1] if taken else "an existing id"], "PgvectorStore")
