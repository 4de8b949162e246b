"""NumPy files: .npy, .npz, and .npy through a pipe."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.errors import FormatError, ParameterError
from bitfold.io import open_vectors, read_npy_header, read_vectors

X = np.random.default_rng(0).integers(0, 200, (300, 5)).astype(np.float32)


def to_npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def to_zip(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def with_shape(shape: str) -> bytes:
    """Return a .npy file whose header announces a shape that does not match its content."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + header.encode() + b"\0" * 64


OBJECTS = to_npy(np.array([[print, 1]], object))
INVALID = {
    "empty.npy": b"",
    "text.npy": b"hello",
    "pickled.npy": OBJECTS,
    "short.npy": to_npy(X)[:-1],
    "huge.npy": with_shape("(1000000000000, 1000000000)"),
    "negative.npy": with_shape("(-4, -4)"),
    "code.npy": with_shape("(print(1), 4)"),
    "parenthesis.npy": with_shape("((1, 4)"),
    "one_row.npy": to_npy(X[0]),
    "no_rows.npy": to_npy(X[:0]),
    "words.npy": to_npy(np.array([["a", "b"]])),
    "complex.npy": to_npy(X * 1j),
    "zip.npy": to_zip(x=to_npy(X)),
    "empty.npz": b"",
    "text.npz": b"hello",
    "no_arrays.npz": to_zip(),
    "pickled.npz": to_zip(x=OBJECTS),
    "short.npz": to_zip(x=to_npy(X))[:-40],
    "short_member.npz": to_zip(x=to_npy(X)[:-4]),
    "huge.npz": to_zip(x=with_shape("(1000000000000, 1000000000)")),
    "single_array.npz": to_npy(X),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_file_is_rejected(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(INVALID[name])
    with pytest.raises(FormatError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_npy_has_no_names(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ParameterError, match=r"omitted for \.npy files, got 'a'"):
        read_vectors(tmp_path / "x.npy", "a")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_header_of_every_version(version: tuple[int, int]) -> None:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asfortranarray(X), version)
    file.seek(0)
    header = read_npy_header(file)
    assert header == (X.shape, True, X.dtype)
    assert len(file.read()) == X.nbytes


class Pipe(io.RawIOBase):
    """Delivers a few bytes at a time and cannot seek."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._content.read(min(len(buffer), 777))
        buffer[: len(chunk)] = chunk
        return len(chunk)


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", ">i2", "?"])
def test_pipe_is_read_once_in_blocks(dtype: str, buffered: bool) -> None:
    matrix = X.astype(dtype)
    pipe: Any = Pipe(to_npy(matrix))
    stream = open_vectors(io.BufferedReader(pipe) if buffered else pipe)
    assert (stream.shape, stream.single_pass) == (X.shape, True)
    assert np.array_equal(stream[:250], matrix[:250])
    assert np.array_equal(stream[250:], matrix[250:])


INVALID_PIPES = {
    "empty": (b"", "expected a .npy stream"),
    "short header": (to_npy(X)[:40], "expected a .npy stream"),
    "one row": (to_npy(X[0]), r"float32 of shape \(5,\)"),
    "no rows": (to_npy(X[:0]), r"float32 of shape \(0, 5\)"),
    "objects": (to_npy(np.array([[{}]])), "real numbers, got object"),
    "fortran": (to_npy(np.asfortranarray(X)), "got Fortran order"),
    "short": (to_npy(X)[:-7], "after 299 of 300 rows"),
}


@pytest.mark.parametrize("name", INVALID_PIPES)
def test_invalid_pipe_is_rejected(name: str) -> None:
    content, message = INVALID_PIPES[name]
    with pytest.raises(FormatError, match=message):
        stream = open_vectors(io.BytesIO(content))
        stream[:200], stream[200:]


def test_negative_sizes_are_rejected(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 4), np.float32))
    content = (tmp_path / "x.npy").read_bytes().replace(b"(3, 4), ", b"(-1, 4),")
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(FormatError):
        read_vectors(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="shape"):
        read_npy_header(io.BytesIO(content))
