"""Search by SQL: one statement for many queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold._types import Ids
from bitfold.codes import Codes
from bitfold.search import Hits, RadiusHits, group_radius_hits
from bitfold.stores.conditions import Condition
from bitfold.stores.postgres.table import PostgresTable

_MAX_QUERIES = 256
"""Queries per statement."""

_FETCH_ROWS = 1 << 16

_SELECT = "SELECT {id}, ({code} <~> q.code)::int AS distance FROM {table} WHERE {where} "


def find_nearest(table: PostgresTable, codes: Codes, k: int, conditions: Any) -> Hits:
    """Return the k nearest codes of each query by a scan, or all if there are fewer."""
    # Indexes do not support the distance as an integer, so Postgres scans all rows.
    order = "ORDER BY ({code} <~> q.code)::int, {id} LIMIT {k}"
    near = _run(table, _SELECT + order, codes, conditions, k=k)
    shape = len(codes), len(near.ids) // max(len(codes), 1)
    return Hits(near.ids.reshape(shape), near.distances.reshape(shape))


def find_within(table: PostgresTable, codes: Codes, radius: int, conditions: Any) -> RadiusHits:
    """Return all codes within a radius of each query by a scan."""
    condition = "AND ({code} <~> q.code)::int <= {radius}"
    return _run(table, _SELECT + condition, codes, conditions, radius=radius)


def probe_index(
    table: PostgresTable, codes: Codes, k: int, conditions: Any, ef_search: int
) -> RadiusHits:
    """Return up to k results per query by the HNSW index."""
    with table.cursor() as cursor:
        set_local = "SELECT set_config(%s, %s, true)"
        cursor.execute(set_local, ["hnsw.ef_search", str(ef_search)])
        # Continue until there are k results, even if k is large or conditions exclude many rows.
        cursor.execute(set_local, ["hnsw.iterative_scan", "strict_order"])
        order = "ORDER BY {code} <~> q.code LIMIT {k}"
        return _run(table, _SELECT + order, codes, conditions, k=k)


def find_meeting(table: PostgresTable, ids: Ids, conditions: tuple[Any, list[Any]]) -> Ids:
    """Return those of some ids whose rows meet conditions."""
    where, parameters = conditions
    statement = table.sql("SELECT {id} FROM {table} WHERE {id} = ANY(%s) AND {where}", where=where)
    with table.cursor() as cursor:
        cursor.execute(statement, [ids.tolist(), *parameters])
        return np.array(cursor.fetchall(), np.int64).reshape(-1)


def _run(
    table: PostgresTable, select: str, codes: Codes, conditions: Any, **values: int
) -> RadiusHits:
    """Run a SELECT for each query code, many per round trip."""
    from psycopg import sql

    where, parameters = conditions or (sql.SQL("true"), [])
    # Other programs may leave out codes; such rows are ignored.
    has_code = sql.SQL("{} IS NOT NULL AND {}").format(sql.Identifier(table.names.code), where)
    statement = table.sql(
        "SELECT q.number - 1, t.* FROM unnest(%s::text[]::bit({n_bits})[]) "
        f"WITH ORDINALITY AS q (code, number) CROSS JOIN LATERAL ({select}) AS t",
        where=has_code,
        n_bits=codes.n_bits,
        **values,
    )
    found = [np.empty((0, 3), np.int64)]
    with table.cursor() as cursor:
        for start in range(0, len(codes), _MAX_QUERIES):
            queries = _to_text(codes[start : start + _MAX_QUERIES])
            cursor.execute(statement, [queries, *parameters])
            while rows := cursor.fetchmany(_FETCH_ROWS):
                found.append(np.array(rows, np.int64) + np.array([start, 0, 0]))
    numbers, ids, distances = np.concatenate(found).T
    return group_radius_hits(numbers, ids, distances, len(codes))


def _to_text(codes: Codes) -> list[str]:
    """Return codes as text of 0 and 1, which Postgres parses as bits."""
    return [row.tobytes().decode() for row in codes.unpack() + np.uint8(ord("0"))]


def compile_conditions(groups: list[list[Condition]]) -> tuple[Any, list[Any]]:
    """Return conditions as SQL with placeholders, and the values of the placeholders."""
    from psycopg import sql

    alternatives = [
        sql.SQL("({})").format(sql.SQL(" AND ").join(_compile(*each) for each in group))
        for group in groups
    ]
    values = [value for group in groups for _, _, value in group]
    return sql.SQL("({})").format(sql.SQL(" OR ").join(alternatives)), values


def _compile(column: str, operator: str, value: Any) -> Any:
    from psycopg import sql

    tests = {"in": "{} = ANY(%s)", "not in": "{} <> ALL(%s)"}
    return sql.SQL(tests.get(operator, f"{{}} {operator} %s")).format(sql.Identifier(column))
