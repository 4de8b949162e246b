"""``bitfold build``, and the commands that take a collection."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import LABELS, Run, X, assert_fails, list_names, parse_json

import bitfold as bf

FAST = ("--method", "lsh", "--bits", "48")


@pytest.fixture(scope="module")
def news(warm: Run, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of the digits with text ids and metadata."""
    folder = tmp_path_factory.mktemp("news")
    lines = [f"d{i},{label},Digit {label}" for i, label in enumerate(LABELS)]
    (folder / "m.csv").write_text("\n".join(["id,digit,title", *lines]))
    out = folder / "news.bitfold"
    arguments = ["--out", str(out), "--metadata", str(folder / "m.csv"), *FAST]
    done = warm("build", str(files / "x.npy"), *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{out}: 1,797 items of 64 features, 48 bits, euclidean, in " in done.stdout
    return out


def test_two_commands_from_a_file_to_an_answer(warm: Run, files: Path, news: Path) -> None:
    done = warm("search", str(news), str(files / "x.npy"), "-k", "2", "--column", "digit")
    lines = done.stdout.splitlines()
    assert lines[0] == "query\trank\tid\tdistance\tdigit"
    assert lines[1] == f"0\t1\td0\t0\t{LABELS[0]}"
    assert len(lines) == 1 + 2 * len(X)


def test_conditions_and_json(warm: Run, files: Path, news: Path) -> None:
    search = ["search", str(news), str(files / "x.npy"), "-k", "3", "--json"]
    done = warm(*search, "--where", "digit in (3, 4)", "--column", "title")
    first = json.loads(done.stdout.splitlines()[0])
    assert set(first["metadata"]["title"]) <= {"Digit 3", "Digit 4"}
    assert len(first["ids"]) == len(first["distances"]) == 3
    for line in (search, search[:-1]):  # also without a header before the error
        assert_fails(warm(*line, "--where", "digits = 3"), "'digits'", 2)
        assert_fails(warm(*line, "--column", "digits"), "'digits'", 2)
    assert_fails(warm(*search, "--model", str(files / "m.bitfold")), "--model", 2)
    index = ["search", str(files / "my.index"), str(files / "codes.npy")]
    assert_fails(warm(*index, "--where", "digit = 3"), "need a collection", 2)


def test_info_and_verify(warm: Run, news: Path, tmp_path: Path) -> None:
    summary = parse_json(warm("info", str(news), "--json"))
    assert (summary["kind"], summary["items"], summary["bits"]) == ("collection", 1797, 48)
    assert summary["columns"] == {"digit": "int", "title": "str"}
    assert "keep vectors  float16" in warm("info", str(news)).stdout
    assert parse_json(warm("verify", str(news), "--json"))["items"] == 1797
    damaged = shutil.copytree(news, tmp_path / "damaged")
    next(damaged.glob("vectors*")).write_bytes(b"")
    assert_fails(warm("verify", str(damaged)), "vectors-.* is damaged", 4)


def test_evaluate(warm: Run, files: Path, news: Path) -> None:
    summary = parse_json(warm("evaluate", str(news), "--hold-out", "50", "--json"))
    assert (summary["database"], summary["bits"], summary["queries"]) == (1747, 48, 50)
    other = ["evaluate", str(news), str(files / "x.npy"), "--hold-out", "50", "--json"]
    assert parse_json(warm(*other))["database"] == 1747
    assert_fails(warm("evaluate", str(files / "m.bitfold")), "Vectors .* are needed", 2)


def test_push(warm: Run, news: Path, tmp_path: Path) -> None:
    done = warm("push", str(news), str(tmp_path / "lance"), "--table", "digits")
    assert (done.returncode, done.stderr) == (0, "")
    from bitfold.stores import LanceStore

    store = LanceStore.open(tmp_path / "lance", "digits")
    assert len(store) == 1797
    columns = store.columns([5])
    assert (columns["item_id"], columns["digit"]) == (["d5"], [int(LABELS[5])])
    store.close()
    done = warm("push", str(news), str(tmp_path / "x.faiss"))
    assert "Copied 1,797 codes of 48 bits" in done.stdout
    vectors = ["--vectors", str(news / "lock")]
    wrong = warm("push", str(news), str(tmp_path / "lance"), "--table", "t", *vectors)
    assert_fails(wrong, "--vectors", 2)


@pytest.mark.parametrize("source", ["x.npz:vectors", "x.parquet", "x.h5:part/vectors", "x.zarr"])
def test_every_format(warm: Run, files: Path, tmp_path: Path, source: str) -> None:
    out = tmp_path / "c"
    build = ["build", str(files / source), "--out", str(out), "--keep-vectors", "none", *FAST]
    summary = parse_json(warm(*build, "--json"))
    assert (summary["items"], summary["keep_vectors"]) == (1797, "none")
    with bf.Collection.open(out) as c:
        assert c.search(X[:2], k=1).ids.tolist() == [[0], [1]]


def test_ids_metadata_and_replacement(warm: Run, files: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.arange(len(X))[::-1] * 10)
    out = tmp_path / "c"
    build = ["build", str(files / "x.npy"), "--out", str(out), *FAST, "--cosine"]
    table = ["--metadata", str(files / "x.parquet"), "--ids", str(tmp_path / "ids.npy")]
    parse_json(warm(*build, *table, "--json"))
    with bf.Collection.open(out) as c:
        assert (c.metric, c.columns) == ("cosine", {"label": int})
        assert c.search(X[:1], k=1).ids.tolist() == [[17960]]
    assert_fails(warm(*build), "--force", 6)
    np.save(tmp_path / "ids.npy", np.zeros(len(X), int))
    assert_fails(warm(*build, *table, "--force"), "duplicate: 0", 3)
    with bf.Collection.open(out) as c:
        assert c.metric == "cosine"
    parse_json(warm(*build, "--force", "--json"))
    with bf.Collection.open(out) as c:
        assert c.columns == {}


def test_mistakes_leave_nothing(warm: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text("a\n1\n")
    build = ["build", str(files / "x.npy"), "--out", str(tmp_path / "c")]
    short = ["--metadata", str(tmp_path / "short.csv")]
    assert_fails(warm(*build, *FAST, *short), "one value for each", 2)
    assert_fails(warm(*build, "--keep-vectors", "float64"), "--keep-vectors", 2)
    assert_fails(warm(*build, "--method", "itq", "--bits", "100"), "n_features=64", 2)
    assert_fails(warm(*build, "--metadata", "none.csv"), "none.csv", 5)
    assert_fails(warm(*build, "--method", "supervisedimh"), "labels", 2)
    assert list_names(tmp_path) == ["short.csv"]
