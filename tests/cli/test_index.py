"""``bitfold index``."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from tests.cli.helpers import Run, X, assert_fails, list_names, parse_json

import bitfold as bf


def test_codes_file(warm: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "my.index"
    done = warm("index", str(files / "x.codes"), "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{out}: 1,797 codes of 60 bits, " in done.stdout
    hasher = bf.load(files / "m.bitfold")
    with bf.HammingIndex.open(out) as index:
        assert index.model_digest == hasher.model_digest
        assert index.codes(range(len(X))) == hasher.encode(X)


def test_packed_codes(warm: Run, files: Path, tmp_path: Path) -> None:
    build = ["index", str(files / "codes.npy"), "--json"]
    summary = parse_json(warm(*build, "--out", str(tmp_path / "64")))
    assert (summary["codes"], summary["bits"]) == (len(X), 64)
    summary = parse_json(warm(*build, "--out", str(tmp_path / "60"), "--bits", "60"))
    assert summary["bits"] == 60
    with bf.HammingIndex.open(tmp_path / "60") as index:
        assert index.model_digest is None


def test_ids_and_replacement(warm: Run, files: Path, tmp_path: Path) -> None:
    path = shutil.copytree(files / "my.index", tmp_path / "my.index")
    np.save(tmp_path / "ids.npy", np.arange(len(X))[::-1] * 10**15)
    build = ["index", str(files / "x.codes"), "--out", str(path), "--force"]
    parse_json(warm(*build, "--ids", str(tmp_path / "ids.npy"), "--json"))
    last = bf.load(files / "m.bitfold").encode(X[-1:])
    with bf.HammingIndex.open(path) as index:
        assert index.search(last, 1).ids[0, 0] == 0
    np.save(tmp_path / "ids.npy", np.zeros(len(X), int))
    done = warm(*build, "--ids", str(tmp_path / "ids.npy"))
    assert_fails(done, "ids", done.returncode)
    with bf.HammingIndex.open(path) as index:
        assert len(index) == len(X)


def test_wrong_codes(warm: Run, files: Path, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert_fails(warm("index", str(files / "x.npy"), *out), "x.npy .*float32", 4)
    short = ["index", str(files / "codes.npy"), *out, "--bits", "7"]
    assert_fails(warm(*short), "from 57 to 64 .*got 7", 2)
    assert_fails(warm("index", str(files / "m.bitfold"), *out), "m.bitfold", 4)
    long = ["index", str(files / "x.codes"), *out, "--bits", "64"]
    assert_fails(warm(*long), "n_bits .*60, .*got 64", 2)
    assert list_names(tmp_path) == []
