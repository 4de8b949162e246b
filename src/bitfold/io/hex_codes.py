"""Codes as hexadecimal text, one per line, as libraries for perceptual hashes print them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bitfold._types import PathLike
from bitfold.codes import Codes
from bitfold.errors import FormatError


def read_hex_codes(path: PathLike) -> Codes:
    r"""Read codes from a text file with one hexadecimal number per line.

    ``str(imagehash.phash(image))`` has 16 digits, a code of 64 bits; a PDQ hash has 64 digits, 256
    bits. All lines must have the same number of digits.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    One code per line. The first digit has the first bits, most significant first.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    FormatError
        The file is empty, or a line is not a hexadecimal number as long as the others.

    Examples
    --------
    >>> _ = Path("hashes.txt").write_text("ff00\nFF01\n")
    >>> read_hex_codes("hashes.txt").packed.tolist()
    [[255, 0], [255, 1]]
    """
    packed = bytearray()
    n_digits = 0
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            digits = line.strip()
            n_digits = n_digits or len(digits)
            packed += _parse(digits, n_digits, f"Line {number} of {path}")
    if not packed:
        raise FormatError(f"{path} contains no hexadecimal codes.")
    rows = np.frombuffer(packed, np.uint8).reshape(-1, -(-n_digits // 2))
    return Codes(rows, 4 * n_digits)


def _parse(digits: bytes, n_digits: int, place: str) -> bytes:
    """Return the bytes of a code; if the number of digits is odd, the last byte ends with zeros."""
    if len(digits) != n_digits or not n_digits:
        raise FormatError(
            f"{place} has {len(digits)} characters; every line must be one hexadecimal number of "
            f"the same length, and line 1 has {n_digits}."
        )
    # bytes.fromhex skips spaces, and so would accept a shorter code.
    if not digits.isalnum():
        raise FormatError(f"{place} is not a hexadecimal number: {digits[:80]!r}.")
    try:
        return bytes.fromhex(digits.decode("ascii") + "0" * (n_digits % 2))
    except ValueError:
        raise FormatError(f"{place} is not a hexadecimal number: {digits[:80]!r}.") from None
