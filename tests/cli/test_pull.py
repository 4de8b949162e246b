"""``bitfold pull`` from a faiss file; the other engines are tested with ``bitfold push``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.cli.helpers import Run, X, assert_fails, list_names, parse_json

import bitfold as bf


def test_code_length_of_a_faiss_file(warm: Run, files: Path, tmp_path: Path) -> None:
    faiss = str(tmp_path / "x.faiss")
    assert warm("push", str(files / "my.index"), faiss).returncode == 0
    summary = parse_json(warm("pull", faiss, str(tmp_path / "back"), "--bits", "60", "--json"))
    assert (summary["codes"], summary["bits"]) == (len(X), 60)
    codes = bf.load(files / "m.bitfold").encode(X[:5])
    with bf.HammingIndex.open(tmp_path / "back") as index:
        found = index.search(bf.Codes(codes.packed, 60), 3)
    with bf.HammingIndex.open(files / "my.index") as index:
        assert np.array_equal(found.ids, index.search(codes, 3).ids)


def test_damaged_file(warm: Run, tmp_path: Path) -> None:
    (tmp_path / "x.faiss").write_bytes(b"junk")
    done = warm("pull", str(tmp_path / "x.faiss"), str(tmp_path / "back"))
    assert_fails(done, "x.faiss", 4)
    assert list_names(tmp_path) == ["x.faiss"]
