"""Codes as hexadecimal text."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

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


def test_perceptual_hashes(tmp_path: Path) -> None:
    imagehash, pdqhash = map(pytest.importorskip, ("imagehash", "pdqhash"))
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    short, (long, _) = imagehash.phash(Image.fromarray(pixels)), pdqhash.compute(pixels)
    path = tmp_path / "hashes.txt"
    path.write_text(f"{short}\n")
    assert read_hex_codes(path).unpack().tolist() == [short.hash.ravel().astype(int).tolist()]
    path.write_text(np.packbits(long).tobytes().hex())
    assert read_hex_codes(path).unpack().tolist() == [long.tolist()]
