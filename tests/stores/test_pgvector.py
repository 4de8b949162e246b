"""A real Postgres: transactions, names, indexes, and what a crash or a closed door leaves."""

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
from bitfold.errors import MissingStoreError, StoreError
from bitfold.stores import Batch, PgvectorStore

CODES = bf.Codes(np.random.default_rng(0).integers(0, 256, (300, 8), np.uint8), 64)


@pytest.fixture
def connection(server: str) -> Iterator[psycopg.Connection]:
    """A connection of the test's own, to look at what there is; its tables go at the end."""
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


def test_the_table_is_one_that_sql_can_use(
    store: PgvectorStore, connection: psycopg.Connection
) -> None:
    """Whoever has psql finds bits and ids, and may add rows without a thought for ids."""
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


def test_a_transaction_is_one_change(store: PgvectorStore, server: str) -> None:
    with PgvectorStore.open(server, "t") as other:
        with store.transaction():
            store.add(CODES[:5])
            store.delete([0])
            assert store.count() == 304
            assert other.count() == 300
        assert other.count() == 304
        with pytest.raises(ValueError, match="must be in the store, got 0"), store.transaction():
            store.add(CODES[:5])
            store.delete([0])
        assert store.count() == other.count() == 304


def test_the_users_connection_keeps_its_transaction(server: str, store: PgvectorStore) -> None:
    with psycopg.connect(server) as connection:
        mine = PgvectorStore.open(connection, "t")
        connection.execute("SELECT 1")  # begins one
        mine.add(CODES[:5])
        with pytest.raises(ValueError, match="new and all different, got 7"):
            mine.add(CODES[:1], ids=[7])
        assert mine.count() == 305  # the refused change undid nothing else
        assert store.count() == 300
        connection.rollback()
        assert mine.count() == store.count() == 300
        mine.add(CODES[:5])  # none is open: a change of its own
        assert store.count() == 305
        mine.close()
        assert not connection.closed


def test_a_connection_with_rows_of_another_form(server: str, store: PgvectorStore) -> None:
    with psycopg.connect(server, row_factory=dict_row) as connection:
        mine = PgvectorStore.create(connection, "u", 64)
        mine.add(CODES)
        assert mine.count() == 300
        assert np.array_equal(mine.search(CODES, 5).ids, store.search(CODES, 5).ids)


def test_a_load_that_fails_leaves_nothing(store: PgvectorStore) -> None:
    bad: list[tuple[list[Batch], str]] = [
        ([Batch(CODES[:5]), Batch(CODES[:2], [900, 301])], "new and all different, got 301"),
        ([Batch(CODES[:5], np.arange(500, 505)), Batch(CODES[:1], [2])], "different, got 2"),
        ([Batch(CODES[:5]), Batch(bf.Codes(np.zeros((1, 1), np.uint8), 8))], "of 64 bits, got 8"),
    ]
    for batches, sentence in bad:
        with pytest.raises(ValueError, match=sentence) as error:
            store.load(batches)
        assert "\n" not in str(error.value)
    assert store.count() == 300

    def broken() -> Iterator[Batch]:
        yield Batch(CODES[:5])
        raise KeyError("the user's own trouble")

    with pytest.raises(KeyError, match="the user's own trouble"):
        store.load(broken())
    assert store.count() == 300
    seen: list[tuple[str, int]] = []
    store.load(
        [Batch(CODES[:1]), Batch(CODES[:2])], lambda stage, done, _: seen.append((stage, done))
    )
    assert seen == [("loading", 1), ("loading", 3)]
    assert store.codes([300, 302]) == CODES[[0, 1]]


DYING = """
import os, sys
import numpy as np, bitfold as bf
from bitfold.stores import Batch, PgvectorStore
codes = bf.Codes(np.zeros((70_000, 8), np.uint8), 64)
def batches():
    for number in range(5):
        if number == 4:
            os.kill(os.getpid(), 9)
        yield Batch(codes)
url, how = sys.argv[1:]
if how == "load":
    PgvectorStore.open(url, "t").load(batches())
else:
    PgvectorStore.create(url, how, 64, batches=batches(), replace=True)
"""


@pytest.mark.parametrize("how", ["load", "t"])
def test_a_killed_load_leaves_what_was_there(store: PgvectorStore, server: str, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DYING, server, how], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9, done.stderr
    store.add(CODES[:1])  # waits until the server has noticed, and undone
    assert store.count() == 301
    assert store.search(CODES[:1], 2).ids.tolist() == [[0, 300]]


def test_exact_search_does_not_ask_the_index(
    store: PgvectorStore, connection: psycopg.Connection
) -> None:
    index = bf.HammingIndex(64)
    index.add(CODES)
    store.build_index(m=2, ef_construction=4)
    # Even where Postgres would rather not scan, and the index would find next to nothing.
    store._table.place.connection.execute("SET enable_seqscan = off")
    store._table.place.connection.execute("SET hnsw.ef_search = 1")
    assert np.array_equal(store.search(CODES, 20).ids, index.search(CODES, 20).ids)
    with pytest.raises(ValueError, match="ef_construction of build_index must be at least 32"):
        store.build_index(ef_construction=5)
    for column, low in (("m", 2), ("ef_construction", 32)):
        with pytest.raises(ValueError, match=f"{column} of build_index must be at least {low}"):
            store.build_index(**{column: -1})


def test_indexed_search_asks_the_index(
    store: PgvectorStore, connection: psycopg.Connection
) -> None:
    def scans() -> int:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        (count,) = connection.execute(
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 't_code_idx'"
        ).fetchone() or (0,)
        return int(count)

    store.build_index()
    store._table.place.connection.execute("SET enable_seqscan = off")
    before = scans()
    store.search(CODES[:9], 5, exact=False)
    store._table.place.connection.execute("SELECT pg_stat_force_next_flush()")
    store.count()
    assert scans() > before


EVIL = ['x"; DROP TABLE t; --', "Tisch", "日本", "{table}"]


@pytest.mark.parametrize("name", EVIL)
def test_names_are_names(server: str, store: PgvectorStore, name: str) -> None:
    with PgvectorStore.create(server, name, 64, columns={name: int}) as odd:
        odd.add(CODES[:3], columns={name: [1, 2, 3]})
        odd.build_index()
        assert odd.search(CODES[:1], 1, where=[(name, "=", 2)]).ids.tolist() == [[1]]
        assert odd.within(CODES[:1], 0, where=[(name, "in", [1])]).ids.tolist() == [0]
        odd.delete([1])
        odd.add(CODES[:1])
        assert odd.columns([0, 3]) == {name: [1, None]}
        assert [len(batch.codes) for batch in odd.batches()] == [3]
    with PgvectorStore.open(server, name) as again:
        assert again.count() == 3
    assert store.count() == 300


def test_schemas(server: str, connection: psycopg.Connection) -> None:
    connection.execute("CREATE SCHEMA IF NOT EXISTS own")
    with PgvectorStore.create(server, "own.t", 64) as store:
        store.add(CODES[:2])
    with pytest.raises(MissingStoreError):
        PgvectorStore.open(server, "t")
    with pytest.raises(StoreError, match=r"cannot be used: schema \"nowhere\" does not exist\.$"):
        PgvectorStore.create(server, "nowhere.t", 64)
    for wrong in ("", ".", "a.b.c", "x" * 64, "a\nb", "%s", 7):
        with pytest.raises(ValueError, match="table of PgvectorStore must be a name, or schema"):
            PgvectorStore.open(server, wrong)  # type: ignore[arg-type]


def test_a_table_that_people_have_already(server: str, connection: psycopg.Connection) -> None:
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
        connection.execute(
            "INSERT INTO theirs (key) VALUES (50)"
        )  # without a code: as if not there
        assert store.count() == 5
        assert len(store.search(CODES[:1], 5).ids[0]) == len(store.within(CODES[:1], 64).ids) == 5
        assert sum(len(batch.codes) for batch in store.batches()) == 5
        for call in (store.codes, store.delete):
            with pytest.raises(ValueError, match="must be in the store, got 50"):
                call([50])
        with pytest.raises(ValueError, match="at most the 5 codes of the store, got 6"):
            store.search(CODES[:1], 6)
    with pytest.raises(ValueError, match="column 'id' of PgvectorStore must be of type bigint"):
        PgvectorStore.open(server, "theirs")
    with pytest.raises(ValueError, match=r"'size' of PgvectorStore must be of type bit\(n\), got "):
        PgvectorStore.open(server, "theirs", id_column="key", code_column="size")
    connection.execute("ALTER TABLE theirs DROP CONSTRAINT theirs_pkey")
    with pytest.raises(ValueError, match=r"column 'key' of PgvectorStore must be .* unique by it"):
        PgvectorStore.open(server, "theirs", id_column="key", code_column="hash")


def test_what_is_and_is_not_there(server: str, store: PgvectorStore) -> None:
    with pytest.raises(FileExistsError, match=r"table 't' in database .* exists already; open it"):
        PgvectorStore.create(server, "t", 64)
    with pytest.raises(MissingStoreError, match=r"table 'u' in database .* does not exist\."):
        PgvectorStore.open(server, "u")
    assert store.count() == 300
    with PgvectorStore.create(server, "t", 8, replace=True) as new:
        assert (new.count(), new.n_bits) == (0, 8)


def test_a_table_dropped_meanwhile(store: PgvectorStore, connection: psycopg.Connection) -> None:
    connection.execute("DROP TABLE t")
    with pytest.raises(StoreError, match=r"^table 't' in .* cannot be used: relation .*\.$"):
        store.count()


def test_a_connection_lost(store: PgvectorStore, connection: psycopg.Connection) -> None:
    pid = store._table.place.connection.info.backend_pid
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with pytest.raises(ConnectionError, match=r"^table 't' in .* cannot be reached: [^\n]*\.$"):
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
        # With characters that should have been encoded, libpq takes parts for host or port.
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
def test_no_error_tells_a_password(url: str) -> None:
    with pytest.raises((ConnectionError, ValueError)) as error:
        PgvectorStore.open(url, "t")
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_a_server_that_is_down() -> None:
    with pytest.raises(ConnectionError) as error:
        PgvectorStore.open("postgresql://me@127.0.0.1:1/db", "t")
    assert str(error.value).startswith("database db of 127.0.0.1:1 cannot be reached: ")
    assert "Connection refused" in str(error.value)


def test_what_is_no_place() -> None:
    with pytest.raises(TypeError, match=r"must be text or a psycopg\.Connection, got int\."):
        PgvectorStore.open(5, "t")


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r'needs psycopg: pip install "bitfold\[postgres\]"\.'):
        PgvectorStore.open("postgresql://", "t")


def test_a_user_who_may_not(server: str, store: PgvectorStore, connection: Any) -> None:
    connection.execute("DROP ROLE IF EXISTS guest")
    connection.execute("CREATE ROLE guest LOGIN")
    guest = server.replace("postgres:@", "guest:@")
    with pytest.raises(PermissionError, match=r"cannot be used: permission denied for .*\.$"):
        PgvectorStore.create(guest, "mine", 64)
    with (
        PgvectorStore.open(guest, "t") as theirs,
        pytest.raises(PermissionError, match="cannot be used: permission denied for table t"),
    ):
        theirs.count()
    connection.execute("DROP ROLE guest")


def test_every_type_comes_back(server: str, connection: psycopg.Connection) -> None:
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


def test_codes_and_ids_come_back_in_batches(server: str, connection: psycopg.Connection) -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 256, (150_000, 2), np.uint8), 16)
    ids = rng.permutation(150_000) - 75_000
    with PgvectorStore.create(server, "t", 16) as store:
        store.load(
            Batch(codes[i : i + 40_000], ids[i : i + 40_000]) for i in range(0, 150_000, 40_000)
        )
        batches = list(store.batches())
    assert len(batches) > 1
    found = np.concatenate([np.asarray(batch.ids) for batch in batches])
    packed = np.concatenate([batch.codes.packed for batch in batches])
    assert np.array_equal(found, ids)
    assert np.array_equal(packed, codes.packed)
