"""``bitfold push`` and ``bitfold pull``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psycopg
import pytest
from tests.stores.postgres_server import start_postgres

import bitfold as bf
from bitfold.cli import main
from bitfold.stores import FaissStore, LanceStore, PgvectorStore, RerankByStoredVectors

RNG = np.random.default_rng(0)
CODES = bf.Codes.from_bits(RNG.integers(0, 2, (500, 61), np.uint8))
X = RNG.standard_normal((500, 6)).astype(np.float32)
SECRET = "s3cr3t-w0rd"


class Done(NamedTuple):
    """Exit code and output of a command."""

    returncode: object
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a Postgres server."""
    with start_postgres() as url:
        yield url


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, because a new one takes a second to start."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["bitfold", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code, *capfd.readouterr())

    return run


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("push") / "my.index"
    index = bf.HammingIndex(61)
    index.add(CODES)
    index.remove([7, 300])
    index.save(path)
    return path


def have_equal_results(a: bf.HammingIndex, b: bf.HammingIndex) -> bool:
    hits = [index.search(CODES[:20], len(index)) for index in (a, b)]
    return all(np.array_equal(x, y) for x, y in zip(*hits, strict=True))


def drop_table(url: str, table: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE {table}")


@pytest.mark.parametrize("engine", ["postgres", "lancedb", "faiss"])
def test_round_trip(
    engine: str, run: Run, index: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address, table = str(tmp_path / "db"), ["--table", "codes"]
    if engine == "postgres":
        address = request.getfixturevalue("server").replace("postgres:@", f"postgres:{SECRET}@")
    elif engine == "faiss":
        address, table = str(tmp_path / "codes.faiss"), []
    pushed = run("push", index, address, *table)
    assert pushed.returncode == 0, pushed.stderr
    assert "498 codes of 61 bits" in pushed.stdout
    again = run("push", index, address, *table)
    assert again.returncode != 0
    assert "already exists" in again.stderr
    assert run("push", index, address, *table, "--force", "--json").returncode == 0
    bits = ["--bits", 61] if engine == "faiss" else []
    pulled = run("pull", address, tmp_path / "back", *table, *bits, "--json")
    assert json.loads(pulled.stdout)["codes"] == 498, pulled.stderr
    assert have_equal_results(bf.HammingIndex.open(index), bf.HammingIndex.open(tmp_path / "back"))
    assert "already exists" in run("pull", address, tmp_path / "back", *table, *bits).stderr
    for done in (pushed, again, pulled):
        assert SECRET not in done.stdout + done.stderr
    if engine == "postgres":
        drop_table(address, "codes")


def test_vectors_are_copied(run: Run, index: Path, tmp_path: Path, server: str) -> None:
    np.save(tmp_path / "x.npy", X)
    for address in (str(tmp_path / "db"), server):
        done = run("push", index, address, "--table", "t", "--vectors", tmp_path / "x.npy")
        assert done.returncode == 0, done.stderr
    rerank = bf.RerankByVectors(X, X[:5], 50)
    hits = bf.HammingIndex.open(index).search(CODES[:5], 9, rerank=rerank)
    with PgvectorStore.open(server, "t") as remote, LanceStore.open(tmp_path / "db", "t") as local:
        for store in (remote, local):
            found = store.search(CODES[:5], 9, rerank=RerankByStoredVectors(X[:5], 50))
            assert np.array_equal(found.ids, hits.ids)
            assert np.array_equal(found.distances, hits.distances)
    drop_table(server, "t")


def test_kind_of_faiss_index(run: Run, index: Path, tmp_path: Path) -> None:
    assert run("push", index, tmp_path / "x.faiss", "--factory", "BHNSW8").returncode == 0
    assert type(FaissStore.open(tmp_path / "x.faiss").engine).__name__ == "IndexBinaryHNSW"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("push", "{index}", "{tmp}/db"), "--table"),
        (("push", "{index}", "{tmp}/x.faiss", "--table", "t"), "--table"),
        (("push", "{index}", "{tmp}/x.faiss", "--vectors", "{index}"), "--vectors"),
        (("push", "{tmp}/no", "{tmp}/db", "--table", "t"), "no does not exist"),
        (("push", "{index}", "{tmp}/no/x.faiss"), "does not exist"),
        (("push", "{index}", "{tmp}/x.faiss", "--factory", "no"), "factory of FaissStore"),
        (("pull", "{tmp}/x.faiss", "{tmp}/back"), "x.faiss does not exist"),
        (("pull", "{tmp}/db", "{tmp}/back", "--table", "t"), "db does not exist"),
        (("pull", "{tmp}", "{tmp}/b", "--table", "t", "--bits", "8"), "--bits"),
        (
            ("push", "{index}", f"postgresql://me:{SECRET}@127.0.0.1:1/db", "--table", "t"),
            "database db of 127.0.0.1:1",
        ),
        (
            ("pull", f"postgresql://me:{SECRET}@x@127.0.0.1:1/db", "{tmp}/back", "--table", "t"),
            "special characters percent-encoded",
        ),
        (("push", "{index}", f"postgresql://me:{SECRET}@127.0.0.1:1/db"), "--table"),
        *(
            (("pull", address, "{tmp}/back", "--table", "t"), message)
            for address, message in [
                (f"host=127.0.0.1 port=1 password={SECRET}", "of 127.0.0.1:1"),
                (f"PostgreSQL://me:{SECRET}@127.0.0.1/db", "like postgresql://"),
                (f"postgresql+psycopg://me:{SECRET}@127.0.0.1/db", "like postgresql://"),
                (f"nonsense://me:{SECRET}@bucket/db?key={SECRET}", "is not supported"),
            ]
        ),
    ],
)
def test_errors_are_one_line(
    arguments: tuple[str, ...], message: str, run: Run, index: Path, tmp_path: Path
) -> None:
    done = run(*(argument.format(index=index, tmp=tmp_path) for argument in arguments))
    assert done.returncode != 0
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert SECRET not in done.stderr + done.stdout
    assert not (tmp_path / "back").exists()


def test_debug_output_hides_the_password() -> None:
    url = f"postgresql://me:{SECRET}@127.0.0.1:1/db"
    command = [sys.executable, "-m", "bitfold", "pull", url, "back", "--table", "t", "--debug"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" in done.stderr
    assert SECRET not in done.stderr
