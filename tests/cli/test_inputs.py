"""Arguments that name input files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bitfold.cli._inputs import InputRef, check_exists, fingerprint, is_codes_file, read_labels
from bitfold.errors import DataError


def test_file_and_name(tmp_path: Path) -> None:
    file, odd = tmp_path / "x.npz", tmp_path / "x.npz:y"
    file.touch()
    assert InputRef.parse(file) == (file, None)
    assert InputRef.parse(Path(f"{file}:y")) == (file, "y")
    assert InputRef.parse(tmp_path / "no.npz:y") == (tmp_path / "no.npz:y", None)
    odd.touch()
    assert InputRef.parse(odd) == (odd, None)


def test_folder_must_be_a_zarr(tmp_path: Path) -> None:
    (tmp_path / "x.zarr").mkdir()
    assert InputRef.parse_file(tmp_path / "x.zarr").path == tmp_path / "x.zarr"
    with pytest.raises(IsADirectoryError):
        InputRef.parse_file(tmp_path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    check_exists(Path("-"), None, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no\.npy"):
        check_exists(tmp_path / "no.npy")


def test_fingerprint_changes_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"1")
    first = fingerprint(file)
    assert first == fingerprint(file)
    file.write_bytes(b"22")
    assert fingerprint(file) != first
    assert fingerprint(Path("-")) == ""


def test_number_of_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.arange(3))
    assert len(read_labels(tmp_path / "y.npy", 3)) == 3
    with pytest.raises(DataError, match=r"3 labels.*4 rows"):
        read_labels(tmp_path / "y.npy", 4)


@pytest.mark.parametrize(
    ("name", "expected"), [("x.codes", True), ("x.npy", True), ("m.bitfold", False)]
)
def test_codes_file_is_known_by_its_suffix(name: str, expected: bool) -> None:
    assert is_codes_file(Path(name)) is expected
