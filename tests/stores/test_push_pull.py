"""bitfold push and pull."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import bitfold as bf
from bitfold.cli import main
from bitfold.stores import FaissStore, LanceStore, PgvectorStore, RerankByStoredVectors

RNG = np.random.default_rng(0)
CODES = bf.Codes.from_bits(RNG.integers(0, 2, (500, 61), np.uint8))
X = RNG.standard_normal((500, 6)).astype(np.float32)
SECRET = "s3cr3t-w0rd"


class Done(NamedTuple):
    """How a command ended, and what it said."""

    returncode: object
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process: a new one takes a second to begin."""

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


def same(a: bf.HammingIndex, b: bf.HammingIndex) -> bool:
    hits = [index.search(CODES[:20], len(index)) for index in (a, b)]
    return all(np.array_equal(x, y) for x, y in zip(*hits, strict=True))


@pytest.mark.parametrize("engine", ["postgres", "lancedb", "faiss"])
def test_there_and_back(
    engine: str, run: Run, index: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place, table = str(tmp_path / "db"), ["--table", "codes"]
    if engine == "postgres":
        place = request.getfixturevalue("server").replace("postgres:@", f"postgres:{SECRET}@")
    elif engine == "faiss":
        place, table = str(tmp_path / "codes.faiss"), []
    pushed = run("push", index, place, *table)
    assert pushed.returncode == 0, pushed.stderr
    assert pushed.stdout.startswith("498 codes of 61 bits are in ")
    again = run("push", index, place, *table)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert run("push", index, place, *table, "--replace", "--json").returncode == 0
    bits = ["--bits", 61] if engine == "faiss" else []
    pulled = run("pull", place, tmp_path / "back", *table, *bits, "--json")
    assert json.loads(pulled.stdout)["codes"] == 498, pulled.stderr
    assert same(bf.HammingIndex.open(index), bf.HammingIndex.open(tmp_path / "back"))
    assert "exists already" in run("pull", place, tmp_path / "back", *table, *bits).stderr
    for done in (pushed, again, pulled):
        assert SECRET not in done.stdout + done.stderr
    if engine == "postgres":
        with PgvectorStore.open(place, "codes") as store:
            store._table.place.connection.execute("DROP TABLE codes")


def test_originals_go_along(run: Run, index: Path, tmp_path: Path, server: str) -> None:
    np.save(tmp_path / "x.npy", X)
    for place in (str(tmp_path / "db"), server):
        done = run("push", index, place, "--table", "t", "--vectors", tmp_path / "x.npy")
        assert done.returncode == 0, done.stderr
    hits = bf.HammingIndex.open(index).search(CODES[:5], 9, rerank=bf.RerankByVectors(X, X[:5], 50))
    with PgvectorStore.open(server, "t") as there, LanceStore.open(tmp_path / "db", "t") as here:
        for store in (there, here):
            found = store.search(CODES[:5], 9, rerank=RerankByStoredVectors(X[:5], 50))
            assert np.array_equal(found.ids, hits.ids)
            assert np.array_equal(found.distances, hits.distances)
        there._table.place.connection.execute("DROP TABLE t")


def test_a_kind_of_faiss(run: Run, index: Path, tmp_path: Path) -> None:
    assert run("push", index, tmp_path / "x.faiss", "--factory", "BHNSW8").returncode == 0
    assert type(FaissStore.open(tmp_path / "x.faiss").engine).__name__ == "IndexBinaryHNSW"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("push", "{index}", "{tmp}/db"), "--table must name a table, got none."),
        (("push", "{index}", "{tmp}/x.faiss", "--table", "t"), "must be left out for a .faiss"),
        (("push", "{tmp}/no", "{tmp}/db", "--table", "t"), "no does not exist."),
        (("push", "{index}", "{tmp}/no/x.faiss"), "its directory does not exist."),
        (("push", "{index}", "{tmp}/x.faiss", "--factory", "no"), "factory of FaissStore must be"),
        (("pull", "{tmp}/x.faiss", "{tmp}/back"), "x.faiss does not exist."),
        (("pull", "{tmp}/db", "{tmp}/back", "--table", "t"), "db does not exist."),
        (("pull", "{tmp}", "{tmp}/b", "--table", "t", "--bits", "8"), "--bits must be left out"),
        (
            ("push", "{index}", f"postgresql://me:{SECRET}@127.0.0.1:1/db", "--table", "t"),
            "database db of 127.0.0.1:1 cannot be reached",
        ),
        (
            ("pull", f"postgresql://me:{SECRET}@x@127.0.0.1:1/db", "{tmp}/back", "--table", "t"),
            "special characters percent-encoded",
        ),
        (("push", "{index}", f"postgresql://me:{SECRET}@127.0.0.1:1/db"), "--table must name"),
        *(
            (("pull", place, "{tmp}/back", "--table", "t"), sentence)
            for place, sentence in [
                (f"host=127.0.0.1 port=1 password={SECRET}", "cannot be reached"),
                (f"PostgreSQL://me:{SECRET}@127.0.0.1/db", "must be like postgresql://"),
                (f"postgresql+psycopg://me:{SECRET}@127.0.0.1/db", "must be like postgresql://"),
                (f"nonsense://me:{SECRET}@bucket/db?key={SECRET}", "cannot be used"),
            ]
        ),
    ],
)
def test_errors_are_one_sentence(
    arguments: tuple[str, ...], sentence: str, run: Run, index: Path, tmp_path: Path
) -> None:
    done = run(*(argument.format(index=index, tmp=tmp_path) for argument in arguments))
    assert done.returncode != 0
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert SECRET not in done.stderr + done.stdout
    assert not (tmp_path / "back").exists()


def test_not_even_debugging_tells_a_password() -> None:
    url = f"postgresql://me:{SECRET}@127.0.0.1:1/db"
    command = [sys.executable, "-m", "bitfold", "pull", url, "back", "--table", "t", "--debug"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" in done.stderr
    assert SECRET not in done.stderr
