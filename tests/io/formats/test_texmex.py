"""The .fvecs, .bvecs and .ivecs files of the texmex corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.errors import FormatError, ParameterError
from bitfold.io import read_vectors

X = np.random.default_rng(0).integers(0, 200, (7, 5)).astype(np.float32)


def to_texmex(matrix: NDArray[Any]) -> bytes:
    length = np.array([matrix.shape[1]], "<i4").tobytes()
    return b"".join(length + row.tobytes() for row in matrix)


@pytest.mark.parametrize(("suffix", "dtype"), [("FVECS", "<f4"), ("bvecs", "u1"), ("ivecs", "<i4")])
def test_file_is_mapped(suffix: str, dtype: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(to_texmex(X.astype(dtype)))
    matrix = read_vectors(path)
    assert np.array_equal(matrix, X)
    assert isinstance(matrix, np.memmap)
    assert matrix.dtype == dtype
    with pytest.raises(ParameterError, match=r"name of read_vectors .*'a'"):
        read_vectors(path, "a")


INVALID = {
    "empty.fvecs": b"",
    "stub.fvecs": b"\x05\0",
    "short.fvecs": to_texmex(X)[:-4],
    "lengths.fvecs": to_texmex(X[:, :4]) + to_texmex(X[:4, :4].repeat(6, 0))[4:] + b"\0\0\0\0",
    "zero.fvecs": b"\0\0\0\0",
    "negative.ivecs": b"\xff\xff\xff\xff" * 8,
    "short.bvecs": to_texmex(X.astype("u1"))[:-1],
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_file_is_rejected(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(INVALID[name])
    with pytest.raises(FormatError, match=name):
        read_vectors(tmp_path / name)
