"""Vectors from files of all kinds: right ones are read, wrong ones refused in one sentence."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyarrow import parquet

from bitfold.io import read_vectors
from bitfold.errors import FormatError

X = np.random.default_rng(0).integers(0, 200, (7, 5)).astype(np.float32)


def texmex(matrix: NDArray[Any]) -> bytes:
    length = np.array([matrix.shape[1]], "<i4").tobytes()
    return b"".join(length + row.tobytes() for row in matrix)


def as_lists(matrix: NDArray[Any], *, fixed: bool = True) -> pa.Array:
    if fixed:
        return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    return pa.array([row.tolist() for row in matrix])


def write_npy(path: Path) -> None:
    np.save(path, X)


def write_npz(path: Path) -> None:
    np.savez_compressed(path, vectors=X)


def write_h5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["group/vectors"] = X
        file["number"] = 3


def write_parquet(path: Path) -> None:
    columns = {"id": pa.array(range(len(X))), "vectors": as_lists(X)}
    parquet.write_table(pa.table(columns), path, row_group_size=3)


def write_texmex(dtype: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(texmex(X.astype(dtype)))

    return write


WRITERS: dict[str, Callable[[Path], None]] = {
    ".npy": write_npy,
    ".npz": write_npz,
    ".h5": write_h5,
    ".hdf5": write_h5,
    ".parquet": write_parquet,
    ".fvecs": write_texmex("<f4"),
    ".ivecs": write_texmex("<i4"),
    ".bvecs": write_texmex("u1"),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_matrix(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{ending}"
    WRITERS[ending](path)
    matrix = read_vectors(path)
    assert np.array_equal(matrix, X)
    assert matrix.dtype == {".ivecs": np.int32, ".bvecs": np.uint8}.get(ending, np.float32)
    # What can be is mapped, so that a file may be bigger than the memory.
    assert isinstance(matrix, np.memmap) == (ending not in (".npz", ".parquet"))
    assert np.array_equal(read_vectors(str(path)), X)


def test_the_end_of_a_name_may_be_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "x.FVECS").write_bytes(texmex(X))
    assert np.array_equal(read_vectors(tmp_path / "x.FVECS"), X)


def test_arrays_are_chosen_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=X, b=X + 1)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"] = X, X + 1
    table = pa.table({"a": as_lists(X), "b": as_lists(X + 1)})
    parquet.write_table(table, tmp_path / "x.parquet")
    for name in ("x.npz", "x.h5", "x.parquet"):
        assert np.array_equal(read_vectors(tmp_path / name, "b"), X + 1)
        with pytest.raises(ValueError, match=r"^name of read_vectors must be .*'a', 'b', got"):
            read_vectors(tmp_path / name)
        with pytest.raises(ValueError, match=r"got 'c'\.$"):
            read_vectors(tmp_path / name, "c")
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match=r"must be left out for \.npy files, got 'a'"):
        read_vectors(tmp_path / "x.npy", "a")


def test_hdf5_in_pieces_or_after_a_user_block(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=512) as file:
        file["x"] = X
    assert np.array_equal(read_vectors(tmp_path / "x.h5"), X)
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(2, 5), compression="gzip")
    assert np.array_equal(read_vectors(tmp_path / "y.h5"), X)
    with h5py.File(tmp_path / "z.h5", "w") as file:
        file.create_dataset("x", data=X, dtype=">f8")
    assert np.array_equal(read_vectors(tmp_path / "z.h5"), X)


def test_parquet_lists_that_only_happen_to_be_of_one_length(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": as_lists(X, fixed=False)}), tmp_path / "x.parquet")
    assert np.array_equal(read_vectors(tmp_path / "x.parquet"), X)


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def claiming(shape: str) -> bytes:
    """A .npy file whose header claims a shape that its content has not."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + header.encode() + b"\0" * 64


OBJECTS = npy(np.array([[print, 1]], object))
WRONG = {
    "empty.npy": b"",
    "text.npy": b"hello",
    "pickled.npy": OBJECTS,
    "short.npy": npy(X)[:-1],
    "huge.npy": claiming("(1000000000000, 1000000000)"),
    "negative.npy": claiming("(-4, -4)"),
    "code.npy": claiming("(print(1), 4)"),
    "open.npy": claiming("((1, 4)"),
    "a_row.npy": npy(X[0]),
    "no_rows.npy": npy(X[:0]),
    "words.npy": npy(np.array([["a", "b"]])),
    "complex.npy": npy(X * 1j),
    "a_zip.npy": zipped(x=npy(X)),
    "empty.npz": b"",
    "text.npz": b"hello",
    "nothing.npz": zipped(),
    "pickled.npz": zipped(x=OBJECTS),
    "short.npz": zipped(x=npy(X))[:-40],
    "inside.npz": zipped(x=npy(X)[:-4]),
    "huge.npz": zipped(x=claiming("(1000000000000, 1000000000)")),
    "single.npz": npy(X),
    "empty.h5": b"",
    "text.h5": b"hello",
    "text.parquet": b"hello",
    "empty.fvecs": b"",
    "stub.fvecs": b"\x05\0",
    "short.fvecs": texmex(X)[:-4],
    "mixed.fvecs": texmex(X[:, :4]) + texmex(X[:4, :4].repeat(6, axis=0))[4:] + b"\0\0\0\0",
    "none.fvecs": b"\0\0\0\0",
    "minus.ivecs": b"\xff\xff\xff\xff" * 8,
    "short.bvecs": texmex(X.astype("u1"))[:-1],
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(WRONG[name])
    with pytest.raises(FormatError) as error:
        read_vectors(tmp_path / name)
    check_sentence(error.value, tmp_path / name)


def check_sentence(error: BaseException, path: Path) -> None:
    assert str(error).startswith(f"{path} must ")
    assert str(error).endswith(".")
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


def test_hdf5_without_a_matrix_of_numbers(tmp_path: Path) -> None:
    for name, value in {"row": X[0], "words": np.array([[b"a", b"b"]])}.items():
        path = tmp_path / f"{name}.h5"
        with h5py.File(path, "w") as file:
            file["x"] = value
        with pytest.raises(FormatError) as error:
            read_vectors(path)
        check_sentence(error.value, path)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1.0, 2.0], [3.0, 4.0, 5.0, 6.0]]),
        pa.array([[1.0, 2.0], None]),
        pa.array([[1.0, 2.0], [3.0, None]]),
        pa.array([[], []], pa.list_(pa.float32())),
        pa.array([], pa.list_(pa.float32())),
        pa.array([["a"], ["b"]]),
        pa.array([1.0, 2.0]),
    ],
    ids=["lengths", "no list", "no number", "no features", "no rows", "words", "no lists"],
)
def test_parquet_without_lists_of_one_length(column: pa.Array, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"x": column}), path)
    with pytest.raises(FormatError) as error:
        read_vectors(path)
    check_sentence(error.value, path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.npy does not exist\.$"):
        read_vectors(tmp_path / "x.npy")
    (tmp_path / "x.txt").write_text("1 2 3")
    with pytest.raises(ValueError, match=r"a file that ends in \.bvecs, .*, got 'x\.txt'\.$"):
        read_vectors(tmp_path / "x.txt")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(FormatError, match="must be a file with vectors in it"):
        read_vectors(tmp_path / "folder.npy")


@pytest.mark.parametrize("missing", ["pyarrow", "h5py"])
def test_a_missing_extra_is_named(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, extra = {"pyarrow": (".parquet", "parquet"), "h5py": (".h5", "hdf5")}[missing]
    WRITERS[ending](tmp_path / f"x{ending}")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf'pip install "bitfold\[{extra}\]"'):
        read_vectors(tmp_path / f"x{ending}")


CONTENTS: dict[str, bytes] = {}


@pytest.fixture(scope="module", autouse=True)
def _contents(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("right")
    for ending, write in WRITERS.items():
        write(folder / f"x{ending}")
        CONTENTS[ending] = (folder / f"x{ending}").read_bytes()


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required:UserWarning")
@given(st.data())
@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".fvecs", ".bvecs"])
def test_whatever_is_in_a_file_there_is_a_matrix_or_a_sentence(
    ending: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(CONTENTS[ending])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / f"damaged{ending}"
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    try:
        matrix = read_vectors(path)
    except FormatError as error:
        check_sentence(error, path)
    else:
        assert matrix.ndim == 2
        assert matrix.dtype.kind in "fiub"
