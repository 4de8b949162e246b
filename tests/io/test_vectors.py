"""Vectors and labels from files of every format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyarrow import parquet
from safetensors.numpy import save_file

from bitfold.errors import FormatError, ParameterError
from bitfold.io import open_vectors, read_labels, read_vectors
from bitfold.io.vectors import FORMATS

X = np.random.default_rng(0).integers(0, 200, (7, 5)).astype(np.float32)


def to_lists(matrix: NDArray[Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["group/vectors"] = X
        file["number"] = 3


def write_parquet(path: Path) -> None:
    columns = {"id": pa.array(range(len(X))), "vectors": to_lists(X)}
    parquet.write_table(pa.table(columns), path, row_group_size=3)


def write_jsonl(path: Path) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in X.tolist()))


def write_zarr(path: Path) -> None:
    zarr.create_array(path, shape=X.shape, dtype="f4", chunks=(2, 5))[:] = X


def texmex_writer(dtype: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        length = np.array([X.shape[1]], "<i4").tobytes()
        path.write_bytes(b"".join(length + row.tobytes() for row in X.astype(dtype)))

    return write


WRITERS: dict[str, Callable[[Path], Any]] = {
    ".bvecs": texmex_writer("u1"),
    ".csv": lambda path: np.savetxt(path, X, delimiter=",", header="a,b,c,d,e", comments=""),
    ".fvecs": texmex_writer("<f4"),
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".ivecs": texmex_writer("<i4"),
    ".jsonl": write_jsonl,
    ".ndjson": write_jsonl,
    ".npy": lambda path: np.save(path, X),
    ".npz": lambda path: np.savez_compressed(path, vectors=X),
    ".parquet": write_parquet,
    ".safetensors": lambda path: save_file({"vectors": X}, path),
    ".tsv": lambda path: np.savetxt(path, X, delimiter="\t"),
    ".zarr": write_zarr,
}


READ_BY_BLOCKS = (".csv", ".jsonl", ".ndjson", ".npz", ".parquet", ".tsv", ".zarr")


def test_every_format_is_tested() -> None:
    assert list(WRITERS) == [suffix for suffix, entry in FORMATS.items() if entry.open_vectors]


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_the_same_matrix(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path)
    matrix = read_vectors(path)
    assert np.array_equal(matrix, X)
    assert matrix.dtype == {".ivecs": np.int32, ".bvecs": np.uint8}.get(suffix, np.float32)
    # Contiguous formats are mapped, so that a file may be larger than memory.
    assert isinstance(matrix, np.memmap) == (suffix not in READ_BY_BLOCKS)
    assert np.array_equal(read_vectors(str(path)), X)
    assert open_vectors(path).shape == X.shape


def test_arrays_are_chosen_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=X, b=X + 1)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"] = X, X + 1
    table = pa.table({"a": to_lists(X), "b": to_lists(X + 1)})
    parquet.write_table(table, tmp_path / "x.parquet")
    for name in ("x.npz", "x.h5", "x.parquet"):
        assert np.array_equal(read_vectors(tmp_path / name, "b"), X + 1)
        for wrong in (None, "c"):
            with pytest.raises(ParameterError, match=r"'a', 'b'") as caught:
                read_vectors(tmp_path / name, wrong)
            assert (caught.value.name, caught.value.owner) == ("name", "read_vectors")
            assert caught.value.value == repr(wrong)


def test_missing_and_unknown_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.npy does not exist"):
        read_vectors(tmp_path / "x.npy")
    (tmp_path / "x.txt").write_text("1 2 3")
    with pytest.raises(ParameterError, match=r"\.bvecs, .*, got 'x\.txt'"):
        read_vectors(tmp_path / "x.txt")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(FormatError, match=r"folder\.npy is empty or not a file"):
        read_vectors(tmp_path / "folder.npy")


@pytest.mark.parametrize(
    ("module", "suffix", "extra"),
    [("pyarrow", ".parquet", "parquet"), ("h5py", ".h5", "hdf5"), ("zarr", ".zarr", "zarr")],
)
def test_error_names_the_missing_extra(
    module: str, suffix: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[suffix](tmp_path / f"x{suffix}")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'{module}: pip install "bitfold\[{extra}\]"'):
        read_vectors(tmp_path / f"x{suffix}")


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("valid")
    for suffix, write in WRITERS.items():
        write(folder / f"x{suffix}")
    return {path.suffix: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required:UserWarning")
@given(st.data())
@pytest.mark.parametrize(
    "suffix",
    [".npy", ".npz", ".parquet", ".fvecs", ".bvecs", ".csv", ".jsonl", ".safetensors"],
)
def test_damaged_file_is_read_or_rejected(
    suffix: str,
    contents: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    content = bytearray(contents[suffix])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    try:
        matrix = read_vectors(path)
    except FormatError as error:
        assert str(error).startswith(str(path))
        assert "\n" not in str(error)
    else:
        assert matrix.ndim == 2
        assert matrix.dtype.kind in "fiub"


# Labels

LABELS = np.array([3, 1, 2])
WORDS = ["a", "b", "é"]


def test_labels_of_every_format(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", LABELS)
    np.savez(tmp_path / "y.npz", y=LABELS, x=X)
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["y"], file["words"] = LABELS, WORDS
    table = pa.table({"y": LABELS, "words": WORDS, "v": [[1.0]] * 3})
    parquet.write_table(table, tmp_path / "y.parquet")
    assert read_labels(tmp_path / "y.npy").tolist() == [3, 1, 2]
    for name in ("y.npz", "y.h5", "y.parquet"):
        assert read_labels(tmp_path / name, "y").tolist() == [3, 1, 2]
    for name in ("y.h5", "y.parquet"):
        assert read_labels(tmp_path / name, "words").tolist() == WORDS
    with pytest.raises(ParameterError, match=r"columns in y\.parquet \('y', 'words'\), got None"):
        read_labels(tmp_path / "y.parquet")


def test_invalid_labels_are_rejected(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.zeros((2, 2, 2)))
    with pytest.raises(FormatError, match=r"float64 of shape \(2, 2, 2\)"):
        read_labels(tmp_path / "y.npy")
    parquet.write_table(pa.table({"y": [1, None]}), tmp_path / "y.parquet")
    with pytest.raises(FormatError, match=r"'y' of .*y\.parquet has missing labels"):
        read_labels(tmp_path / "y.parquet")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_labels(tmp_path / "none.npy")
    (tmp_path / "y.fvecs").write_bytes(b"x")
    with pytest.raises(ParameterError, match=r"\.txt, got 'y\.fvecs'"):
        read_labels(tmp_path / "y.fvecs")
