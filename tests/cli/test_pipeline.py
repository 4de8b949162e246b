"""fit, encode, index, search, evaluate, info: run as processes on files of every format."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.datasets import load_digits

import bitfold as bf
from bitfold.hashers import LSH
from bitfold.metrics import closest_neighbors, mean_average_precision

Bitfold = Callable[..., subprocess.CompletedProcess[str]]

DIGITS, LABELS = load_digits(return_X_y=True)
X = DIGITS.astype(np.float32)


def texmex(matrix: NDArray[Any]) -> bytes:
    length = np.array([matrix.shape[1]], "<i4").tobytes()
    return b"".join(length + row.tobytes() for row in matrix)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits in every format, a model of them, its codes and an index."""
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "x.npy", X)
    np.savez(folder / "x.npz", vectors=X, labels=LABELS)
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("part/vectors", data=X, chunks=(100, 64), compression="gzip")
        file["labels"] = LABELS
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 64)
    table = pa.table({"id": range(len(X)), "vectors": lists, "label": LABELS})
    parquet.write_table(table, folder / "x.parquet", row_group_size=500)
    zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(70, 64), dtype="f4")[:] = X
    (folder / "x.fvecs").write_bytes(texmex(X))
    (folder / "x.bvecs").write_bytes(texmex(X.astype(np.uint8)))
    (folder / "labels.txt").write_text("\n".join(map(str, LABELS)))
    np.save(folder / "labels.npy", LABELS)
    hasher = LSH(60, random_state=0).fit(X)
    hasher.save(folder / "m.bitfold")
    codes = hasher.encode(X)
    np.save(folder / "codes.npy", codes.packed)
    index = bf.HammingIndex(64)
    index.add(bf.Codes(codes.packed, 64))
    index.save(folder / "my.index")
    return folder


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, "")
    tree: dict[str, Any] = json.loads(done.stdout)
    return tree


def refused(done: subprocess.CompletedProcess[str], sentence: str, code: int = 1) -> None:
    """Demand one sentence and nothing else."""
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(f"bitfold: .*{sentence}.*\\.\n", done.stderr), done.stderr


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# From vectors to answers


def test_the_whole_way(bitfold: Bitfold, files: Path, tmp_path: Path) -> None:
    """What the README shows, with IMH."""
    np.save(tmp_path / "q.npy", X[:3])
    model, codes, index = (str(tmp_path / name) for name in ("m.bitfold", "c.npy", "my.index"))
    vectors, queries = str(files / "x.npy"), str(tmp_path / "q.npy")
    done = bitfold(
        "fit", vectors, "--bits", "32", "--out", model, "--set", "base__n_base_points=60"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r".*m\.bitfold: IMH, 32 bits, from 1,797 × 64 vectors in", done.stdout)
    assert done.stdout.endswith("\n60 base points: as asked for.\n")
    done = bitfold("encode", model, vectors, "--out", codes)
    assert re.match(r".*c\.npy: 1,797 codes of 32 bits in .* s\.\n$", done.stdout)
    done = bitfold("index", codes, "--out", index)
    assert re.match(r".*my\.index: 1,797 codes of 32 bits, \d+ of them distinct\.\n$", done.stdout)
    done = bitfold("search", index, "--model", model, queries, "-k", "10", "--json")
    hasher = bf.load(model)
    hits = bf.HammingIndex.open(index).search(hasher.encode(X[:3]), 10)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["query"] for line in lines] == [0, 1, 2]
    assert [line["ids"] for line in lines] == hits.ids.tolist()
    assert [line["distances"] for line in lines] == hits.distances.tolist()
    again = bf.IMH(32, base=bf.KMeansBase(60), random_state=0).fit(X)
    assert again.encode(X) == hasher.encode(X)
    assert names(tmp_path) == ["c.npy", "m.bitfold", "my.index", "q.npy"]


FORMATS = ["x.npy", "x.npz:vectors", "x.h5", "x.parquet", "x.zarr", "x.fvecs", "x.bvecs"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_codes(
    warm: Bitfold, files: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "c.npy"
    done = warm("encode", str(files / "m.bitfold"), str(files / name), "--out", str(out), "--json")
    about = told(done)
    assert (about["rows"], about["bits"], about["out"]) == (len(X), 60, str(out))
    assert out.read_bytes() == (files / "codes.npy").read_bytes()
    assert names(tmp_path) == ["c.npy"]


def piped(command: str, content: bytes, *arguments: str) -> Any:
    return subprocess.run([command, *arguments], input=content, capture_output=True, timeout=120)


def test_a_pipe(command: str, files: Path, tmp_path: Path) -> None:
    stream = (files / "x.npy").read_bytes()
    out = tmp_path / "c.npy"
    done = piped(command, stream, "encode", str(files / "m.bitfold"), "-", "--out", str(out))
    assert (done.returncode, done.stderr) == (0, b"")
    assert out.read_bytes() == (files / "codes.npy").read_bytes()
    model = tmp_path / "m.bitfold"
    fit = ["fit", "-", "--method", "LSH", "--bits", "60", "--out", str(model)]
    assert piped(command, stream, *fit).returncode == 0
    assert model.read_bytes() == (files / "m.bitfold").read_bytes()
    short = ["encode", str(model), "-", "--out", str(tmp_path / "short.npy")]
    done = piped(command, stream[:-300], *short)
    sentence = b"bitfold: the input must hold 1797 rows, as its header says, got 1795.\n"
    assert (done.returncode, done.stderr) == (1, sentence)
    assert names(tmp_path) == ["c.npy", "m.bitfold"]


@pytest.mark.parametrize("labels", ["labels.txt", "x.h5:labels", "x.parquet:label"])
def test_fit_with_labels(warm: Bitfold, files: Path, tmp_path: Path, labels: str) -> None:
    out = tmp_path / "m.bitfold"
    about = told(
        warm(
            "fit", str(files / "x.fvecs"), "--labels", str(files / labels), "--out", str(out),
            "--method", "ksh", "--bits", "12", "--set", "n_anchors=60", "--set", "n_samples=120",
            "--seed", "3", "--json",
        )
    )  # fmt: skip
    assert (about["method"], about["bits"], about["features"]) == ("KSH", 12, 64)
    assert about["bytes"] == out.stat().st_size
    assert bf.load(out).get_params()["random_state"] == 3


def test_search_with_originals_and_in_a_radius(warm: Bitfold, files: Path) -> None:
    search = ["search", str(files / "my.index"), "--model", str(files / "m.bitfold")]
    search.append(str(files / "x.bvecs"))
    exact = warm(*search, "-k", "1", "--rerank", str(files / "x.npy"))
    lines = [line.split("\t") for line in exact.stdout.splitlines()]
    assert lines[0] == ["query", "rank", "id", "distance"]
    assert [(int(query), rank, far) for query, rank, _, far in lines[1:]] == [
        (row, "1", "0") for row in range(len(X))
    ]
    near = warm(*search, "--radius", "3", "--json").stdout.splitlines()
    codes = bf.Codes(np.load(files / "codes.npy"), 64)
    index = bf.HammingIndex.open(files / "my.index")
    expected = index.within(codes, 3)
    found = [json.loads(line) for line in near]
    assert [item for answer in found for item in answer["ids"]] == expected.ids.tolist()
    coded = warm("search", str(files / "my.index"), str(files / "codes.npy"), "-k", "2")
    assert coded.stdout.splitlines()[2].split("\t")[:2] == ["0", "2"]


def test_evaluate(warm: Bitfold, files: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.parquet")]
    labels = ["--labels", str(files / "labels.npy"), "--seed", "5", "--hold-out", "300"]
    about = told(warm(*evaluate, *labels, "--json"))
    codes = bf.load(files / "m.bitfold").encode(X)
    order = np.random.default_rng(5).permutation(len(X))
    asked, kept = order[:300], order[300:]
    expected = mean_average_precision(codes[asked], codes[kept], LABELS[asked], LABELS[kept])
    assert about["map"] == pytest.approx(expected)
    assert (about["database"], about["queries"]) == (len(kept), 300)
    assert 0 < about["recall"] < about["precision"] < 1
    shown = warm(*evaluate, *labels).stdout
    assert re.search(rf"MAP\s+│\s+{100 * expected:.1f}", shown)
    assert "precision, radius 2" in shown
    assert "F1, radius 2" in shown


def test_unlabeled_rows_are_searched_but_not_asked(
    warm: Bitfold, files: Path, tmp_path: Path
) -> None:
    known = np.random.default_rng(1).random(len(X)) < 0.5
    np.save(tmp_path / "y.npy", np.where(known, LABELS, -1))
    (tmp_path / "none.txt").write_text("-1\n" * len(X))
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.parquet"), "--labels"]
    about = told(warm(*evaluate, str(tmp_path / "y.npy"), "--hold-out", "300", "--json"))
    order = np.random.default_rng(0).permutation(len(X))
    asked, kept = order[:300][known[order[:300]]], order[300:]
    codes, y = bf.load(files / "m.bitfold").encode(X), np.where(known, LABELS, -1)
    expected = mean_average_precision(codes[asked], codes[kept], y[asked], y[kept])
    assert about["map"] == pytest.approx(expected)
    assert (about["database"], about["queries"]) == (len(kept), len(asked))
    refused(warm(*evaluate, str(tmp_path / "none.txt")), "queries must have labels, some at least")


def test_evaluate_by_the_closest_rows(warm: Bitfold, files: Path, tmp_path: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold")]
    about = told(warm(*evaluate, str(files / "x.zarr"), "--hold-out", "300", "--json"))
    codes = bf.load(files / "m.bitfold").encode(X)
    order = np.random.default_rng(0).permutation(len(X))
    asked, kept = np.sort(order[:300]), np.sort(order[300:])
    near = bf.metrics.Relevance.neighbors(closest_neighbors(X[kept], X[asked]))
    assert about["map"] == pytest.approx(mean_average_precision(codes[asked], codes[kept], near))
    assert about["answers"] == "the 30 closest items"
    for name, rows in (("q.npy", asked), ("x.npy", kept)):
        np.save(tmp_path / name, X[rows])
    apart = told(
        warm(*evaluate, str(tmp_path / "x.npy"), "--queries", str(tmp_path / "q.npy"), "--json")
    )
    assert apart["map"] == pytest.approx(about["map"])


def test_info(warm: Bitfold, files: Path, tmp_path: Path) -> None:
    model = told(warm("info", str(files / "m.bitfold"), "--json"))
    assert (model["kind"], model["bits"], model["features"]) == ("model, LSH", 60, 64)
    assert model["settings"] == {"center": True, "n_bits": 60, "random_state": 0}
    assert model["bytes"] == (files / "m.bitfold").stat().st_size
    index = told(warm("info", str(files / "my.index"), "--json"))
    assert (index["kind"], index["codes"], index["bits"]) == ("index", len(X), 64)
    vectors, place = str(tmp_path / "x.npy"), str(tmp_path / "m.bitfold")
    np.save(vectors, X[:300])
    made = told(warm("fit", vectors, "--bits", "8", "--out", place, "--json"))
    assert (made["base_points"], made["base_reason"]) == (300, "all that 300 rows call for")
    about = told(warm("info", place, "--json"))
    assert (about["base_points"], about["base_reason"]) == (300, "all that 300 rows call for")
    assert "base reason  all that 300 rows call for" in warm("info", place).stdout.splitlines()
    lines = warm("info", str(files / "my.index")).stdout.splitlines()
    assert "codes     1,797" in lines


# What is refused


def npy(content: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, content, **options)
    return file.getvalue()


def claiming(shape: str) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + header.encode() + b"\x00" * 256


SPOILT = X.copy()
SPOILT[1234, 5] = np.nan
objects = np.array([{"a": 1}, [2]], object)

HOSTILE = {
    "empty.npy": (b"", "must be a file with vectors in it, got an empty one or none"),
    "short.npy": (npy(X)[:-5], "must be as long as its header says, got a shorter file"),
    "pickle.npy": (npy(objects, allow_pickle=True), "must be a .npy file of numbers"),
    "huge.npy": (claiming("(1000000000000000, 64)"), "must be as long as its header says"),
    "overflow.npy": (claiming("(4611686018427387905, 4)"), "must be as long as its header says"),
    "nan.npy": (npy(SPOILT), "X of LSH must be finite, got NaN in row 1234"),
    "narrow.npy": (npy(X[:, :60]), "X has 60 features, but LSH is expecting 64 features as input"),
    "flat.npy": (npy(X[0]), r"must hold a matrix with rows, got shape \(64,\)"),
    "words.npy": (npy(np.array([["a", "b"]])), "must hold real numbers, got dtype <U1"),
    "junk.parquet": (b"PAR1 junk PAR1", "must be a Parquet file with lists of numbers"),
    "junk.h5": (b"junk", "must be an HDF5 file with a matrix"),
    "junk.fvecs": (b"\xff\xff\xff\x7f1234", "must be .fvecs vectors of one length"),
    "x.docx": (b"junk", r"must be a file that ends in \.bvecs, .*, got 'x\.docx'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_vectors_give_one_sentence(
    warm: Bitfold, files: Path, tmp_path: Path, name: str
) -> None:
    content, sentence = HOSTILE[name]
    (tmp_path / name).write_bytes(content)
    done = warm(
        "encode", str(files / "m.bitfold"), str(tmp_path / name), "--out", str(tmp_path / "c.npy")
    )
    refused(done, sentence)
    assert names(tmp_path) == [name]


def test_what_does_not_fit_together(warm: Bitfold, files: Path, tmp_path: Path) -> None:
    vectors, model, index = (str(files / name) for name in ("x.npy", "m.bitfold", "my.index"))
    out = str(tmp_path / "out")
    refused(warm("encode", vectors, vectors, "--out", out), "is not a bitfold file")
    refused(warm("encode", model, "no.npy", "--out", out), "no.npy does not exist")
    refused(warm("fit", vectors, "--out", str(tmp_path / "no" / "m")), "cannot be written")
    refused(warm("fit", vectors, "--out", out, "--method", "foo"), "got 'foo'", 2)
    refused(warm("fit", vectors, "--out", out, "--set", "k"), "must be NAME=VALUE, got 'k'", 2)
    refused(warm("fit", vectors, "--out", out, "--set", "kk=1"), "a setting of IMH must be", 2)
    itq = ["fit", vectors, "--out", out, "--method", "itq"]
    refused(warm(*itq, "--bits", "65"), "n_bits of ITQ must be at most n_features=64, got 65")
    refused(warm(*itq, "--labels", str(files / "labels.npy")), "learns from them, got ITQ", 2)
    refused(warm("fit", vectors, "--out", out, "--bits", "100000"), "1024", 2)
    refused(warm("fit", str(files), "--out", out), "must be a file, or a .zarr, got a folder")
    refused(warm("fit", vectors, "--out", "-"), "goes to a file, not to a pipe")
    refused(warm("index", vectors, "--out", out), "must hold codes, .* got vectors of float32")
    short = ["index", str(files / "codes.npy"), "--out", out, "--bits", "7"]
    refused(warm(*short), "--bits must be 57 to 64 for codes of 8 bytes, .*, got 7")
    search = ["search", index]
    refused(warm(*search, "--model", model, vectors, "-k", "9999"), "got 9999")
    refused(warm(*search, vectors), "must hold codes, .* got vectors of float32")
    np.save(tmp_path / "wide.npy", np.zeros((3, 9), np.uint8))
    refused(warm(*search, str(tmp_path / "wide.npy")), "codes of 8 bytes, .*, got 9 bytes")
    refused(warm(*search, vectors, "--radius", "1", "-k", "3"), "-k must be left out", 2)
    again = ["--radius", "1", "--rerank", vectors]
    refused(warm(*search, vectors, *again), "--rerank must be left out", 2)
    (tmp_path / "few.txt").write_text("1\n2\n")
    evaluate = ["evaluate", model, vectors, "--labels", str(tmp_path / "few.txt")]
    refused(warm(*evaluate), "must hold a label for each of 1797 rows, got 2")
    evaluate = ["evaluate", model, vectors]
    refused(warm(*evaluate, "--hold-out", "1797"), "fewer than all 1797 rows, got 1797")
    refused(warm(*evaluate, "--query-labels", vectors), "must come with labels", 2)
    refused(warm("push", index, out + ".faiss", "--vectors", "no.npy"), "no.npy does not exist")
    refused(warm("info", str(tmp_path / "none")), "does not exist")
    assert names(tmp_path) == ["few.txt", "wide.npy"]


def test_a_result_never_replaces_what_it_is_made_of(
    warm: Bitfold, files: Path, tmp_path: Path
) -> None:
    """By its name, by a link, or as the file of FILE:NAME."""
    vectors, archive = (
        shutil.copy(files / "x.npy", tmp_path),
        shutil.copy(files / "x.npz", tmp_path),
    )
    model = shutil.copy(files / "m.bitfold", tmp_path)
    (tmp_path / "soft").symlink_to(vectors)
    (tmp_path / "hard").hardlink_to(vectors)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    sentence = "cannot be written: it is read, too; name another file"
    for out in (vectors, tmp_path / "soft", tmp_path / "hard"):
        refused(warm("fit", str(vectors), "--method", "lsh", "--out", str(out)), sentence)
        refused(warm("encode", str(model), str(vectors), "--out", str(out)), sentence)
    refused(warm("encode", str(model), str(vectors), "--out", str(model)), sentence)
    labeled = ["fit", str(vectors), "--labels", f"{archive}:labels", "--out", str(archive)]
    refused(warm(*labeled), sentence)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_no_room_is_one_sentence_that_names_the_file(
    warm: Bitfold, files: Path, tmp_path: Path
) -> None:
    """Files of at most 4 KiB stand for a disk that is full."""
    vectors, model, codes = (str(files / name) for name in ("x.npy", "m.bitfold", "codes.npy"))
    for verb, *arguments, out in (
        ("fit", vectors, "--method", "itq", "--out", str(tmp_path / "m")),
        ("encode", model, vectors, "--out", str(tmp_path / "c.npy")),
        ("index", codes, "--out", str(tmp_path / "my.index")),
        ("push", str(files / "my.index"), str(tmp_path / "my.faiss")),
    ):
        done = warm(verb, *arguments, out, room=4096)
        refused(done, f"{out} could not be .*: File too large")
    assert names(tmp_path) == ["my.index"]
    refused(warm("info", str(tmp_path / "my.index")), "is not a bitfold index")


def test_an_index_of_other_codes(warm: Bitfold, files: Path, tmp_path: Path) -> None:
    index = bf.HammingIndex(72)
    index.add(bf.Codes(np.zeros((20, 9), np.uint8), 72))
    index.save(tmp_path / "my.index")
    search = ["search", str(tmp_path / "my.index"), "--model", str(files / "m.bitfold")]
    refused(warm(*search, str(files / "x.npy")), "must be made of codes of 60 bits, .* 72 bits")


def test_an_index_is_replaced_as_a_whole(warm: Bitfold, files: Path, tmp_path: Path) -> None:
    place = shutil.copytree(files / "my.index", tmp_path / "my.index")
    np.save(tmp_path / "ids.npy", np.arange(len(X))[::-1] * 10**15)
    build = ["index", str(files / "codes.npy"), "--out", str(place)]
    about = told(warm(*build, "--bits", "60", "--ids", str(tmp_path / "ids.npy"), "--json"))
    assert (about["codes"], about["bits"]) == (len(X), 60)
    with bf.HammingIndex.open(place) as index:
        assert index.search(bf.Codes(np.load(files / "codes.npy")[-1:], 60), 1).ids[0, 0] == 0
    np.save(tmp_path / "ids.npy", np.zeros(len(X), int))
    refused(warm(*build, "--ids", str(tmp_path / "ids.npy")), "ids of HammingIndex must be new")
    with bf.HammingIndex.open(place) as index:
        assert len(index) == len(X)


# The frame


VERBS = ["encode", "evaluate", "fit", "index", "info", "search", "verify"]


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_that_is_understood(verb: str, warm: Bitfold) -> None:
    text = warm(verb, "--help").stdout
    example = re.search(rf"Example: bitfold {verb} ([\s\S]*?)\n\s*\n", text)
    assert example
    # It is understood: what is wrong is that the files are not there.
    done = warm(verb, *example[1].split())
    assert done.returncode == 1
    assert "does not exist" in done.stderr
    assert "--json" in text


def test_every_verb_has_an_example_and_speaks_json(warm: Bitfold) -> None:
    verbs = [name for name in cli_verbs(warm("--help").stdout) if name not in VERBS]
    assert {"compare", "demo", "explore", "pull", "push", "reproduce"} <= set(verbs)
    for verb in verbs:
        text = warm(verb, "--help").stdout
        assert f"Example: bitfold {verb} " in text
        assert "--json" in text


def cli_verbs(text: str) -> list[str]:
    return re.findall(r"^\W*([a-z]+) {2,}[A-Z]", text.split("Commands")[1], re.M)


def test_shells_complete_verbs_and_options(command: str) -> None:
    def completed(words: str) -> list[str]:
        environment = {
            "_BITFOLD_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        return subprocess.check_output([command], env=environment, text=True).split()

    assert completed("bitfold en") == ["encode"]
    assert completed("bitfold fit --me") == ["--method"]
    script = subprocess.check_output([command, "--show-completion", "bash"], text=True)
    assert "complete -o" in script


def test_a_warning_is_a_sentence(warm: Bitfold, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X[:50])
    fit = ["fit", str(tmp_path / "x.npy"), "--out", str(tmp_path / "m"), "--bits", "8"]
    done = warm(*fit, "--set", "base__n_base_points=400")
    assert done.returncode == 0
    assert all(line.startswith("bitfold: note: ") for line in done.stderr.splitlines())
    assert "base points were asked for" in done.stderr


def test_the_tests_run_the_command_of_this_python(command: str) -> None:
    assert Path(command).parent == Path(sys.executable).parent
