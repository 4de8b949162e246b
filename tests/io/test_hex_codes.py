"""Codes as hexadecimal text."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import imagehash
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bitfold.errors import FormatError
from bitfold.io import read_hex_codes


@given(st.integers(1, 20), st.data())
def test_digits_are_bits(n_digits: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 16**n_digits - 1), min_size=1, max_size=9))
    with TemporaryDirectory() as folder:
        path = Path(folder, "hashes.txt")
        path.write_text("".join(f"{number:0{n_digits}x}\r\n" for number in numbers))
        codes = read_hex_codes(path)
    assert codes.n_bits == 4 * n_digits
    bits = ["".join(map(str, row)) for row in codes.unpack().tolist()]
    assert [int(row, 2) for row in bits] == numbers


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no hexadecimal codes"),
        ("\n", "Line 1 .*0 characters"),
        ("ff\nfff\n", "Line 2 .*3 characters.*line 1 has 2"),
        ("ff\n\nff\n", "Line 2 .*0 characters"),
        ("ff\nfg\n", "Line 2 .*not a hexadecimal number: b'fg'"),
        ("f f \n", "Line 1 .*not a hexadecimal"),
        ("ffé\n", "Line 1 .*not a hexadecimal"),
    ],
)
def test_wrong_lines(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "hashes.txt"
    path.write_text(content, "utf-8")
    with pytest.raises(FormatError, match=message):
        read_hex_codes(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_hex_codes(tmp_path / "none.txt")


PIXELS = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)


def test_hashes_of_imagehash(tmp_path: Path) -> None:
    found = imagehash.phash(Image.fromarray(PIXELS))
    path = tmp_path / "hashes.txt"
    path.write_text(f"{found}\n")
    assert read_hex_codes(path).unpack().tolist() == [found.hash.ravel().astype(int).tolist()]


def test_hashes_of_pdqhash(tmp_path: Path) -> None:
    # Not among the dependencies of the tests, because it has to be compiled.
    found, _ = pytest.importorskip("pdqhash").compute(PIXELS)
    path = tmp_path / "hashes.txt"
    path.write_text(np.packbits(found).tobytes().hex())
    assert read_hex_codes(path).unpack().tolist() == [found.tolist()]
