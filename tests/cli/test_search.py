"""``bitfold search``, and the whole way from vectors to answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from tests.cli.helpers import Run, X, assert_fails, list_names

import bitfold as bf
from bitfold.hashers import LSH


def test_from_vectors_to_answers(warm: Run, files: Path, tmp_path: Path) -> None:
    """What the README shows, with IMH."""
    np.save(tmp_path / "q.npy", X[:3])
    model, codes, index = (str(tmp_path / name) for name in ("m.bitfold", "x.codes", "my.index"))
    vectors, queries = str(files / "x.npy"), str(tmp_path / "q.npy")
    fit = [
        "fit",
        vectors,
        "--bits",
        "32",
        "--out",
        model,
        "--set",
        "coarse__base__n_base_points=60",
    ]
    assert warm(*fit).returncode == 0
    done = warm("encode", model, vectors, "--out", codes)
    assert re.match(r".*x\.codes: 1,797 codes of 32 bits in .* s\.\n$", done.stdout)
    done = warm("index", codes, "--out", index)
    assert re.match(r".*my\.index: 1,797 codes of 32 bits, \d+ distinct\.\n$", done.stdout)
    done = warm("search", index, "--model", model, queries, "-k", "10", "--json")
    hasher = bf.load(model)
    hits = bf.HammingIndex.open(index).search(
        hasher.encode(X[:3]), 10, query_embedding=hasher.embed(X[:3])
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["query"] for line in lines] == [0, 1, 2]
    assert [line["ids"] for line in lines] == hits.ids.tolist()
    assert [line["distances"] for line in lines] == hits.distances.tolist()
    assert hits.n_tied is not None
    assert [line["n_tied"] for line in lines] == hits.n_tied.tolist()
    assert list_names(tmp_path) == ["m.bitfold", "my.index", "q.npy", "x.codes"]


def test_symmetric(warm: Run, files: Path) -> None:
    search = ["search", str(files / "my.index"), "--model", str(files / "m.bitfold")]
    done = warm(*search, str(files / "x.npy"), "-k", "3", "--symmetric", "--json")
    hits = bf.HammingIndex.open(files / "my.index").search(
        bf.load(files / "m.bitfold").encode(X), 3
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["distances"] for line in lines] == hits.distances.tolist()
    assert hits.n_tied is not None
    assert [line["n_tied"] for line in lines] == hits.n_tied.tolist()


def test_cut_ties_are_reported(warm: Run, tmp_path: Path) -> None:
    codes = bf.Codes(np.array([[0]] * 7 + [[255]] * 2 + [[15]], np.uint8), 8)
    index = bf.HammingIndex(8)
    index.add(codes)
    index.save(tmp_path / "my.index")
    # Of the four queries, one has a tie that is shown completely, and one has no tie.
    np.save(tmp_path / "q.npy", codes.packed[[0, 1, 7, 9]])
    search = ["search", str(tmp_path / "my.index"), str(tmp_path / "q.npy")]
    done = warm(*search, "-k", "2")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 9)
    assert re.fullmatch(
        r"For 3 of 4 queries, the last result ties with others \(median 7 items .*\).*\n",
        done.stderr,
    )
    assert warm(*search, "-k", "1000").stderr == ""
    done = warm(*search, "-k", "2", "--json")
    assert done.stderr == ""
    assert [json.loads(line)["n_tied"] for line in done.stdout.splitlines()] == [7, 7, 2, 9]


def test_rerank(warm: Run, files: Path) -> None:
    search = ["search", str(files / "my.index"), "--model", str(files / "m.bitfold")]
    exact = warm(*search, str(files / "x.bvecs"), "-k", "1", "--rerank", str(files / "x.npy"))
    lines = [line.split("\t") for line in exact.stdout.splitlines()]
    assert lines[0] == ["query", "rank", "id", "distance"]
    assert [(int(query), rank, far) for query, rank, _, far in lines[1:]] == [
        (row, "1", "0") for row in range(len(X))
    ]


def test_radius(warm: Run, files: Path) -> None:
    search = ["search", str(files / "my.index"), "--model", str(files / "m.bitfold")]
    done = warm(*search, str(files / "x.bvecs"), "--radius", "3", "--json")
    index = bf.HammingIndex.open(files / "my.index")
    expected = index.within(bf.load(files / "m.bitfold").encode(X), 3)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [id_ for answer in answers for id_ in answer["ids"]] == expected.ids.tolist()


def test_queries_that_are_codes(warm: Run, files: Path) -> None:
    answers = [
        warm("search", str(files / "my.index"), str(files / name), "-k", "2")
        for name in ("x.codes", "codes.npy")
    ]
    assert answers[0].stdout == answers[1].stdout
    assert answers[0].stdout.splitlines()[2].split("\t")[:2] == ["0", "2"]


def test_other_model_is_an_error_that_names_both(warm: Run, files: Path, tmp_path: Path) -> None:
    other = LSH(60, random_state=1).fit(X)
    other.save(tmp_path / "other.bitfold")
    search = ["search", str(files / "my.index"), "--model", str(tmp_path / "other.bitfold")]
    done = warm(*search, str(files / "x.npy"))
    assert_fails(done, "other.bitfold.*my.index", 3)
    for digest in (other.model_digest, bf.load(files / "m.bitfold").model_digest):
        assert digest in done.stderr


def test_index_of_unknown_origin_is_accepted(warm: Run, files: Path, tmp_path: Path) -> None:
    index = bf.HammingIndex(60)
    index.add(bf.Codes(np.load(files / "codes.npy"), 60))
    index.save(tmp_path / "my.index")
    search = ["search", str(tmp_path / "my.index"), "--model", str(files / "m.bitfold")]
    assert warm(*search, str(files / "x.npy"), "-k", "1").returncode == 0


def test_other_code_length(warm: Run, files: Path, tmp_path: Path) -> None:
    index = bf.HammingIndex(72)
    index.add(bf.Codes(np.zeros((20, 9), np.uint8), 72))
    index.save(tmp_path / "my.index")
    search = ["search", str(tmp_path / "my.index"), "--model", str(files / "m.bitfold")]
    done = warm(*search, str(files / "x.npy"))
    assert_fails(done, "72 bits.*60", done.returncode)
    np.save(tmp_path / "wide.npy", np.zeros((3, 9), np.uint8))
    done = warm("search", str(files / "my.index"), str(tmp_path / "wide.npy"))
    assert_fails(done, "from 65 to 72 .*got 60", 2)


def test_wrong_arguments(warm: Run, files: Path) -> None:
    vectors, search = str(files / "x.npy"), ["search", str(files / "my.index")]
    assert_fails(warm(*search, vectors), "x.npy .*float32", 4)
    assert_fails(warm(*search, vectors, "--radius", "1", "-k", "3"), "-k", 2)
    assert_fails(warm(*search, vectors, "--radius", "1", "--rerank", vectors), "--rerank", 2)
    assert_fails(warm(*search, vectors, "--metric", "l1"), "'l1'", 2)


def test_large_k_returns_all_items(warm: Run, files: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", X[:1])
    search = ["search", str(files / "my.index"), "--model", str(files / "m.bitfold")]
    done = warm(*search, str(tmp_path / "q.npy"), "-k", "9999", "--json")
    assert len(json.loads(done.stdout)["ids"]) == len(X)
