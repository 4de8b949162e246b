"""``bitfold compare``: methods on one data set, from the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

Bitfold = Callable[..., subprocess.CompletedProcess[str]]


def test_a_table_of_methods_and_lengths(warm: Bitfold) -> None:
    done = warm("compare", "digits", "--bits", "8,96", "--methods", "itq,SH", "--queries", "100")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    itq, sh = (next(line for line in lines if name in line.split()) for name in ("ITQ", "SH"))
    assert itq.count("–") == 4  # 96 bits, of 64 features
    assert "–" not in sh
    assert "n_bits of ITQ must be at most n_features=64, got 96." in done.stdout


def test_records_are_kept_and_resumed_from(warm: Bitfold, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    command = ["compare", "digits", "--bits", "8", "--queries", "50", "--records", str(path)]
    first = warm(*command, "--methods", "PCAH", "--json")
    assert first.returncode == 0, first.stderr
    record = json.loads(first.stdout)
    assert record["case"]["method"] == "PCAH"
    assert 10 < record["result"]["map"] < 100
    kept = path.read_text()
    again = warm(*command, "--methods", "PCAH,LSH", "--json", "--repeats", "2")
    assert again.stdout.splitlines()[0] == first.stdout.strip()
    assert path.read_text().startswith(kept)
    assert len(path.read_text().splitlines()) == 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    X, y = load_digits(return_X_y=True)
    np.save(folder / "x.npy", X[:600])
    (folder / "y.txt").write_text("".join(f"kind {label}\n" for label in y[:600]))
    # As an emoji or a style it would be lost.
    np.savez(folder / "both[b].npz", X=X[:600], y=y[:600])
    return folder


def test_a_users_file_with_labels(warm: Bitfold, folder: Path) -> None:
    files = [str(folder / "x.npy"), "--labels", str(folder / "y.txt")]
    methods = ["--methods", "LSH,ITQ,CCA-ITQ,IMHs", "--bits", "8,16"]
    done = warm("compare", *files, *methods)
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, without, go_on = done.stdout.splitlines()
    assert first == f"{files[0]}: 60 queries; right are items of the same label"
    assert "Take CCA-ITQ with" in done.stdout
    # One who has labels to measure by need not want to learn from them.
    assert without.startswith("To learn without labels, take ITQ with ")
    assert go_on.startswith(f"Go on with: bitfold fit {files[0]} --labels {folder / 'y.txt'} ")
    assert "n_bits of SupervisedIMH must be at most classes - 1 = 9, got 16." in done.stdout
    command = go_on.split()[4:]
    command[command.index("--out") + 1] = str(folder / "m.bitfold")
    assert warm(*command).returncode == 0


def test_a_users_file_without_labels(warm: Bitfold, folder: Path) -> None:
    file = f"{folder / 'both[b].npz'}:X"
    common = ("compare", file, "--queries", "100", "--bits", "8,16", "--methods", "ITQ,CCA-ITQ")
    done = warm(*common)
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    assert first == f"{file}: 100 queries; right are the closest 2 percent"
    assert "Take ITQ with 16 bits, 2 bytes a row: MAP " in done.stdout
    assert "learn without labels" not in done.stdout
    records = [json.loads(line) for line in warm(*common, "--json").stdout.splitlines()]
    assert [r["case"]["method"] for r in records] == ["ITQ", "ITQ"]  # no labels, no CCA
    assert records[1]["result"]["map"] > records[0]["result"]["map"]
    few = warm(*common, "--rows", "50", "--json")
    assert json.loads(few.stdout.splitlines()[0])["result"]["cutoffs"][-1] == 50


def test_a_file_that_has_changed_is_compared_anew(warm: Bitfold, tmp_path: Path) -> None:
    X = load_digits().data
    command = ["compare", str(tmp_path / "x.npy"), "--bits", "8", "--methods", "PCAH", "--json"]
    command += ["--records", str(tmp_path / "r.jsonl")]
    np.save(tmp_path / "x.npy", X[:500])
    first = warm(*command)
    assert first.returncode == 0, first.stderr
    assert warm(*command).stdout == first.stdout
    np.save(tmp_path / "x.npy", X[:700])
    other = warm(*command)
    assert other.stdout != first.stdout
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2


def test_what_cannot_be_compared_is_told_in_a_sentence(warm: Bitfold) -> None:
    for arguments, says in (
        (["nothing"], "the data set must be one of digits, mnist"),
        (
            ["digits", "--labels", "y.npy"],
            "labels must go with a file of vectors, got the data set",
        ),
        (["digits", "--bits", "a"], "code lengths must be whole numbers like 16,32, got 'a'."),
        (["digits", "--bits", "0"], "code lengths must be whole numbers like 16,32, got '0'."),
        (["digits", "--methods", "x"], "methods must be among IMH, IMH-tSNE"),
        (["digits", "--labels", "y.npy"], "labels must go with a file of vectors"),
        (["sift_photos", "--methods", "KSH"], "labels must be given for methods that learn from"),
        ([__file__, "--labels", "nowhere.npy"], "nowhere.npy does not exist."),
        ([__file__], "must be a file that ends in .bvecs, "),
    ):
        done = warm("compare", *arguments)
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert done.stderr.startswith("bitfold: ")
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
