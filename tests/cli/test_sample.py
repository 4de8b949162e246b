"""``bitfold sample``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.cli.helpers import Run, assert_fails, list_names, parse_json

from bitfold import datasets

FILES = ["labels.npy", "queries.npy", "query_labels.npy", "vectors.npy"]


def test_digits(warm: Run, tmp_path: Path) -> None:
    done = warm("sample", "digits", within=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("digits: vectors.npy (1497 × 64), queries.npy (300 × 64), ")
    assert list_names(tmp_path / "digits") == FILES
    data = datasets.digits()
    for name, expected in (
        ("vectors", data.database),
        ("queries", data.queries),
        ("labels", data.labels),
        ("query_labels", data.query_labels),
    ):
        assert np.array_equal(np.load(tmp_path / "digits" / f"{name}.npy"), expected)


def test_existing_files_are_replaced_only_with_force(warm: Run, tmp_path: Path) -> None:
    (tmp_path / "labels.npy").write_text("mine")
    arguments = ["sample", "digits", "--out", str(tmp_path)]
    assert_fails(warm(*arguments), r"labels\.npy already exists; use --force", 6)
    assert list_names(tmp_path) == ["labels.npy"]
    summary = parse_json(warm(*arguments, "--force", "--json"))
    assert summary["files"]["labels.npy"] == [1497]
    assert list_names(tmp_path) == FILES


def test_wrong_usage(warm: Run, tmp_path: Path) -> None:
    assert_fails(warm("sample", "mnist", within=tmp_path), "digits, got 'mnist'", 2)
    (tmp_path / "digits").write_text("a file")
    assert_fails(warm("sample", "digits", within=tmp_path), "digits", 6)
    assert list_names(tmp_path) == ["digits"]


def test_full_disk_leaves_nothing(warm: Run, tmp_path: Path) -> None:
    done = warm("sample", "digits", within=tmp_path, max_file_size=1000)
    assert done.returncode == 1
    assert list_names(tmp_path) == []
