"""``bitfold compare``: methods on one data set, from the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

Bitfold = Callable[..., subprocess.CompletedProcess[str]]


def test_a_table_of_methods_and_lengths(bitfold: Bitfold) -> None:
    done = bitfold("compare", "digits", "--bits", "8,96", "--methods", "itq,SH", "--queries", "100")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    itq, sh = (next(line for line in lines if name in line.split()) for name in ("ITQ", "SH"))
    assert itq.count("–") == 4  # 96 bits, of 64 features
    assert "–" not in sh
    assert "n_bits of ITQ must be at most n_features=64, got 96." in done.stdout


def test_records_are_kept_and_resumed_from(bitfold: Bitfold, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    command = ["compare", "digits", "--bits", "8", "--queries", "50", "--records", str(path)]
    first = bitfold(*command, "--methods", "PCAH", "--json")
    assert first.returncode == 0, first.stderr
    record = json.loads(first.stdout)
    assert record["case"]["method"] == "PCAH"
    assert 10 < record["result"]["map"] < 100
    kept = path.read_text()
    again = bitfold(*command, "--methods", "PCAH,LSH", "--json", "--repeats", "2")
    assert again.stdout.splitlines()[0] == first.stdout.strip()
    assert path.read_text().startswith(kept)
    assert len(path.read_text().splitlines()) == 4


def test_a_users_file_with_and_without_labels(bitfold: Bitfold, tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    np.save(tmp_path / "x.npy", X[:600])
    np.save(tmp_path / "y.npy", y[:600])
    common = ("compare", str(tmp_path / "x.npy"), "--queries", "100", "--bits", "8,16")
    with_labels = bitfold(*common, "--labels", str(tmp_path / "y.npy"), "--methods", "ITQ,CCA-ITQ")
    assert with_labels.returncode == 0, with_labels.stderr
    assert "Take CCA-ITQ with" in with_labels.stdout
    without = bitfold(*common, "--methods", "ITQ,CCA-ITQ", "--json")
    assert without.returncode == 0, without.stderr
    records = [json.loads(line) for line in without.stdout.splitlines()]
    assert [r["case"]["method"] for r in records] == ["ITQ", "ITQ"]  # no labels, no CCA
    assert records[1]["result"]["map"] > records[0]["result"]["map"]


def test_what_cannot_be_compared_is_told_in_a_sentence(bitfold: Bitfold) -> None:
    for arguments, says in (
        (["nothing"], "the data set must be one of digits, mnist"),
        (
            ["digits", "--labels", "y.npy"],
            "labels must go with a file of vectors, got the data set",
        ),
        (["digits", "--bits", "a"], "code lengths must be whole numbers like 16,32, got 'a'."),
        (["digits", "--bits", "0"], "code lengths must be whole numbers like 16,32, got '0'."),
        (["digits", "--methods", "x"], "methods must be among IMH, IMH-tSNE"),
    ):
        done = bitfold("compare", *arguments)
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert done.stderr.startswith("bitfold: ")
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
