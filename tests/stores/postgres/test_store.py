"""Stores in Postgres: transactions, names, indexes, killed loads and lost connections."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

import bitfold as bf
from bitfold.errors import (
    MissingStoreError,
    ModelMismatchError,
    ParameterError,
    ParameterTypeError,
    StoreError,
)
from bitfold.stores import Batch, PgvectorStore

CODES = bf.Codes(np.random.default_rng(0).integers(0, 256, (300, 8), np.uint8), 64)


@pytest.fixture
def connection(server: str) -> Iterator[psycopg.Connection]:
    """A second connection to look at tables; all tables are dropped at the end."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        yield connection
        found = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'own')"
        ).fetchall()
        for name in found:
            connection.execute(sql.SQL("DROP TABLE {} CASCADE").format(sql.Identifier(*name)))


@pytest.fixture
def store(server: str, connection: psycopg.Connection) -> Iterator[PgvectorStore]:
    with PgvectorStore.create(server, "t", 64) as store:
        store.add(CODES)
        yield store


def test_sql_can_use_the_table(store: PgvectorStore, connection: psycopg.Connection) -> None:
    """SQL reads bits and ids, and inserts rows without ids."""
    text = "".join(map(str, CODES[5].unpack()[0]))
    near = connection.execute(
        "SELECT id, code <~> %s::bit(64) FROM t ORDER BY 2, 1 LIMIT 1", [text]
    ).fetchone()
    assert near == (5, 0.0)
    connection.execute("INSERT INTO t (code) VALUES (%s::bit(64))", [text])
    assert store.search(CODES[5:6], 2).ids.tolist() == [[5, 300]]
    connection.execute("INSERT INTO t (id, code) VALUES (900, %s::bit(64))", [text])
    store.add(CODES[:1])
    assert store.codes([901]) == CODES[:1]


def test_transaction_is_one_change(store: PgvectorStore, server: str) -> None:
    with PgvectorStore.open(server, "t") as other:
        with store.transaction():
            store.add(CODES[:5])
            store.remove([0])
            assert len(store) == 304
            assert len(other) == 300
        assert len(other) == 304
        with pytest.raises(ValueError, match=r"\b0\b"), store.transaction():
            store.add(CODES[:5])
            store.remove([0])
        assert len(store) == len(other) == 304


def test_connection_of_the_user_keeps_its_transaction(server: str, store: PgvectorStore) -> None:
    with psycopg.connect(server) as connection:
        mine = PgvectorStore.open(connection, "t")
        connection.execute("SELECT 1")  # begins a transaction
        mine.add(CODES[:5])
        with pytest.raises(ValueError, match=r"\b7\b"):
            mine.add(CODES[:1], ids=[7])
        assert len(mine) == 305  # the failed change undid nothing else
        assert len(store) == 300
        connection.rollback()
        assert len(mine) == len(store) == 300
        mine.add(CODES[:5])  # no transaction is open: a change of its own
        assert len(store) == 305
        mine.close()
        assert not connection.closed


def test_connection_with_another_row_factory(server: str, store: PgvectorStore) -> None:
    with psycopg.connect(server, row_factory=dict_row) as connection:
        mine = PgvectorStore.create(connection, "u", 64)
        mine.add(CODES)
        assert len(mine) == 300
        assert np.array_equal(mine.search(CODES, 5).ids, store.search(CODES, 5).ids)


def test_failed_load_adds_nothing(store: PgvectorStore) -> None:
    short = bf.Codes(np.zeros((1, 1), np.uint8), 8)
    cases: list[tuple[list[Batch], str]] = [
        ([Batch(None, CODES[:5]), Batch([900, 301], CODES[:2])], r"\b301\b"),
        ([Batch(np.arange(500, 505), CODES[:5]), Batch([2], CODES[:1])], r"\b2\b"),
        ([Batch(None, CODES[:5]), Batch(None, short)], "64 bits, got 8"),
    ]
    for batches, message in cases:
        with pytest.raises(ValueError, match=message) as error:
            store.add_batches(batches)
        assert "\n" not in str(error.value)
    assert len(store) == 300

    def fail() -> Iterator[Batch]:
        yield Batch(None, CODES[:5])
        raise KeyError("the caller's own error")

    with pytest.raises(KeyError, match="the caller's own error"):
        store.add_batches(fail())
    assert len(store) == 300
    seen: list[tuple[str, int]] = []
    batches = [Batch(None, CODES[:1]), Batch(None, CODES[:2])]
    store.add_batches(batches, lambda stage, done, _: seen.append((stage, done)))
    assert seen == [("loading", 1), ("loading", 3)]
    assert store.codes([300, 302]) == CODES[[0, 1]]


KILLED_LOAD = """
import os, sys
import numpy as np, bitfold as bf
from bitfold.stores import Batch, PgvectorStore
codes = bf.Codes(np.zeros((70_000, 8), np.uint8), 64)
def batches():
    for number in range(5):
        if number == 4:
            os.kill(os.getpid(), 9)
        yield Batch(None, codes)
url, how = sys.argv[1:]
if how == "load":
    PgvectorStore.open(url, "t").add_batches(batches())
else:
    PgvectorStore.create(url, how, 64, batches=batches(), replace=True)
"""


@pytest.mark.parametrize("how", ["load", "t"])
def test_killed_load_adds_nothing(store: PgvectorStore, server: str, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_LOAD, server, how],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    store.add(CODES[:1])  # waits until the server has rolled back
    assert len(store) == 301
    assert store.search(CODES[:1], 2).ids.tolist() == [[0, 300]]


def test_exact_search_ignores_the_index(
    store: PgvectorStore, connection: psycopg.Connection
) -> None:
    index = bf.HammingIndex(64)
    index.add(CODES)
    store.build_index(m=2, ef_construction=4)
    # Even if Postgres prefers the index, which would find almost nothing.
    store._table.database.connection.execute("SET enable_seqscan = off")
    store._table.database.connection.execute("SET hnsw.ef_search = 1")
    assert np.array_equal(store.search(CODES, 20).ids, index.search(CODES, 20).ids)
    with pytest.raises(ValueError, match=r"ef_construction of build_index .* at least 32"):
        store.build_index(ef_construction=5)
    for column, low in (("m", 2), ("ef_construction", 32)):
        with pytest.raises(ValueError, match=f"{column} of build_index .* at least {low}"):
            store.build_index(**{column: -1})


def test_approximate_search_uses_the_index(
    store: PgvectorStore, connection: psycopg.Connection
) -> None:
    def count_scans() -> int:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        (count,) = connection.execute(
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 't_code_idx'"
        ).fetchone() or (0,)
        return int(count)

    store.build_index()
    store._table.database.connection.execute("SET enable_seqscan = off")
    before = count_scans()
    store.search(CODES[:9], 5, exact=False)
    store._table.database.connection.execute("SELECT pg_stat_force_next_flush()")
    len(store)
    assert count_scans() > before


UNUSUAL_NAMES = ['x"; DROP TABLE t; --', "Tisch", "日本", "{table}"]


@pytest.mark.parametrize("name", UNUSUAL_NAMES)
def test_names_are_quoted(server: str, store: PgvectorStore, name: str) -> None:
    with PgvectorStore.create(server, name, 64, columns={name: int}) as odd:
        odd.add(CODES[:3], columns={name: [1, 2, 3]})
        odd.build_index()
        assert odd.search(CODES[:1], 1, where=[(name, "=", 2)]).ids.tolist() == [[1]]
        assert odd.within(CODES[:1], 0, where=[(name, "in", [1])]).ids.tolist() == [0]
        odd.remove([1])
        odd.add(CODES[:1])
        assert odd.columns([0, 3]) == {name: [1, None]}
        assert [len(batch.codes) for batch in odd.batches()] == [3]
    with PgvectorStore.open(server, name) as again:
        assert len(again) == 3
    assert len(store) == 300


def test_schemas_and_invalid_table_names(server: str, connection: psycopg.Connection) -> None:
    connection.execute("CREATE SCHEMA IF NOT EXISTS own")
    with PgvectorStore.create(server, "own.t", 64) as store:
        store.add(CODES[:2])
    with pytest.raises(MissingStoreError):
        PgvectorStore.open(server, "t")
    with pytest.raises(StoreError, match=r"cannot be used: schema \"nowhere\" does not exist\.$"):
        PgvectorStore.create(server, "nowhere.t", 64)
    for name in ("", ".", "a.b.c", "x" * 64, "a\nb", "%s", 7):
        with pytest.raises(ValueError, match="table of PgvectorStore"):
            PgvectorStore.open(server, name)  # type: ignore[arg-type]


def test_table_of_another_program(server: str, connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE TABLE theirs (key bigint PRIMARY KEY, hash bit(64), size numeric, body varchar(9),"
        ' embedding vector(3), "100%%" text)'
    )
    with PgvectorStore.open(
        server, "theirs", id_column="key", code_column="hash", vector_column="embedding"
    ) as store:
        store.add(CODES[:4], ids=[4, 3, 2, 1], vectors=np.eye(4, 3))
        assert store.columns([4]) == {"size": [None], "body": [None]}
        connection.execute("UPDATE theirs SET size = key * 1.5, body = 'b' || key")
        found = store.search(CODES[:1], 4, where=[("size", "<=", 3), ("body", "!=", "b1")])
        assert found.ids.tolist() == [[2]]
        assert store.vectors([3]).tolist() == [[0, 1, 0]]
        store.add(CODES[:1], vectors=np.zeros((1, 3)))
        assert store.codes([5]) == CODES[:1]
        connection.execute("INSERT INTO theirs (key) VALUES (50)")  # no code: ignored
        assert len(store) == 5
        assert len(store.search(CODES[:1], 9).ids[0]) == len(store.within(CODES[:1], 64).ids) == 5
        assert sum(len(batch.codes) for batch in store.batches()) == 5
        for call in (store.codes, store.remove):
            with pytest.raises(ValueError, match=r"\b50\b"):
                call([50])
    with pytest.raises(ParameterError, match=r"column 'id' .* bigint"):
        PgvectorStore.open(server, "theirs")
    with pytest.raises(ParameterError, match=r"column 'size' .* bit\(n\), got numeric"):
        PgvectorStore.open(server, "theirs", id_column="key", code_column="size")
    connection.execute("ALTER TABLE theirs DROP CONSTRAINT theirs_pkey")
    with pytest.raises(ParameterError, match=r"column 'key' .* unique"):
        PgvectorStore.open(server, "theirs", id_column="key", code_column="hash")


def test_missing_and_existing_tables(server: str, store: PgvectorStore) -> None:
    with pytest.raises(FileExistsError, match=r"Table 't' in database .* already exists"):
        PgvectorStore.create(server, "t", 64)
    with pytest.raises(MissingStoreError, match=r"Table 'u' in database .* does not exist"):
        PgvectorStore.open(server, "u")
    assert len(store) == 300
    with PgvectorStore.create(server, "t", 8, replace=True) as new:
        assert (len(new), new.n_bits) == (0, 8)


def test_dropped_table_raises(store: PgvectorStore, connection: psycopg.Connection) -> None:
    connection.execute("DROP TABLE t")
    with pytest.raises(StoreError, match=r"^Table 't' in .* cannot be used: relation .*\.$"):
        len(store)


def test_lost_connection_raises(store: PgvectorStore, connection: psycopg.Connection) -> None:
    pid = store._table.database.connection.info.backend_pid
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with pytest.raises(ConnectionError, match=r"^Table 't' in .* cannot be reached: [^\n]*\.$"):
        store.search(CODES[:1], 1)


SECRET = "s3cr3t-w0rd"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?connect_timeout=1",
        f"postgresql://127.0.0.1:1/db?password={SECRET}",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"postgresql://me:{SECRET}@nowhere.invalid/db",
        # libpq takes parts of unencoded passwords for the host or the port.
        f"postgresql://me:a@{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}/x@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}?x@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}#x@127.0.0.1:1/db",
        f"postgresql://me:a:{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}@127.0.0.1:port/db",
        f"postgresql://me:{SECRET} @127.0.0.1:1/db",
        f"postgresql://me:%zz{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?nonsense=1",
        f"password={SECRET} nonsense",
        f"password='{SECRET}",
        SECRET,
    ],
)
def test_errors_hide_the_password(url: str) -> None:
    with pytest.raises((ConnectionError, ValueError)) as error:
        PgvectorStore.open(url, "t")
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_server_that_is_down_raises() -> None:
    with pytest.raises(ConnectionError, match=r"database db of 127\.0\.0\.1:1: .*onnection"):
        PgvectorStore.open("postgresql://me@127.0.0.1:1/db", "t")


def test_invalid_database_raises() -> None:
    with pytest.raises(ParameterTypeError, match=r"database of PgvectorStore .* got int"):
        PgvectorStore.open(5, "t")


def test_missing_psycopg_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r'pip install "bitfold\[postgres\]"'):
        PgvectorStore.open("postgresql://", "t")


def test_missing_permission_raises(server: str, store: PgvectorStore, connection: Any) -> None:
    connection.execute("DROP ROLE IF EXISTS guest")
    connection.execute("CREATE ROLE guest LOGIN")
    guest = server.replace("postgres:@", "guest:@")
    with pytest.raises(PermissionError, match="permission denied for"):
        PgvectorStore.create(guest, "mine", 64)
    with (
        PgvectorStore.open(guest, "t") as theirs,
        pytest.raises(PermissionError, match="permission denied for table t"),
    ):
        len(theirs)
    connection.execute("DROP ROLE guest")


def test_every_column_type_round_trips(server: str, connection: psycopg.Connection) -> None:
    types: dict[str, type] = {"a": bool, "b": int, "c": float, "d": str, "e": datetime}
    when = datetime(1999, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    rows: dict[str, list[Any]] = {
        "a": [True, False, None],
        "b": [-(1 << 63), (1 << 63) - 1, None],
        "c": [1.5, -1e300, None],
        "d": ["é\n\t\\", "", None],
        "e": [when, datetime.max.replace(tzinfo=UTC), None],
    }
    with PgvectorStore.create(server, "t", 64, n_features=2, columns=types) as store:
        store.add(CODES[:3], columns=rows, vectors=np.ones((3, 2)))
        assert store.columns([0, 1, 2]) == rows


def test_batches_round_trip(server: str, connection: psycopg.Connection) -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 256, (150_000, 2), np.uint8), 16)
    ids = rng.permutation(150_000) - 75_000
    with PgvectorStore.create(server, "t", 16) as store:
        store.add_batches(
            Batch(ids[i : i + 40_000], codes[i : i + 40_000]) for i in range(0, 150_000, 40_000)
        )
        batches = list(store.batches())
    assert len(batches) > 1
    found = np.concatenate([np.asarray(batch.ids) for batch in batches])
    packed = np.concatenate([batch.codes.packed for batch in batches])
    assert np.array_equal(found, ids)
    assert np.array_equal(packed, codes.packed)


def test_model_digest_is_stored(server: str, connection: psycopg.Connection) -> None:
    codes = bf.Codes(CODES.packed, 64, "3f2a")
    with PgvectorStore.create(server, "t", 64, batches=[Batch(None, codes[:5])]) as store:
        assert store.model_digest == "3f2a"
    with PgvectorStore.open(server, "t") as store:
        assert store.codes([0]).model_digest == "3f2a"
        with pytest.raises(ModelMismatchError, match=r"3f2a.* 77ab"):
            store.add(bf.Codes(CODES.packed, 64, "77ab"))
        assert len(store) == 5


def test_comment_of_the_user_is_kept(store: PgvectorStore, connection: psycopg.Connection) -> None:
    connection.execute("COMMENT ON COLUMN t.code IS 'mine'")
    store.add(bf.Codes(CODES.packed, 64, "3f2a"))
    query = "SELECT col_description('t'::regclass, 2)"
    assert connection.execute(query).fetchone() == ("mine",)
