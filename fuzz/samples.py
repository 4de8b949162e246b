"""Small valid files of every kind, from which the fuzzer starts."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import safetensors.numpy
import zarr
from PIL import Image
from pyarrow import parquet

from bitfold import IMH, Codes, HammingIndex, KMeansBase
from bitfold.hashers import ITQ, LSH, SH, Hasher
from bitfold.io import save_codes

X = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
"""The vectors in all files."""


def write_and_read(name: str, write: Callable[[Path], Any]) -> bytes:
    """Return the bytes of a file that a function writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        return path.read_bytes()


def make_hashers() -> list[Hasher]:
    """Return fitted hashers of several families."""
    some: list[Hasher] = [
        LSH(6, random_state=0),
        ITQ(3, random_state=0),
        SH(5),
        IMH(2, base=KMeansBase(8), embedding="pca", random_state=0),
    ]
    return [hasher.fit(X) for hasher in some]


def make_codes(n_bits: int = 12) -> Codes:
    """Return random codes."""
    return Codes.from_bits(np.random.default_rng(n_bits).integers(0, 2, (20, n_bits)))


def make_npy_files() -> list[bytes]:
    """Return .npy files of several types, orders and shapes."""
    arrays = [X, X.astype(">f8"), np.asfortranarray(X), np.arange(12).reshape(3, 4), X[0] > 0]
    return [write_and_read("x.npy", lambda path, array=array: np.save(path, array))  # type: ignore[misc]
            for array in arrays]  # fmt: skip


def make_npz_file() -> bytes:
    """Return an archive of two arrays."""
    return write_and_read("x.npz", lambda path: np.savez_compressed(path, vectors=X, y=X[:, 0]))


def make_texmex_file() -> bytes:
    """Return vectors in the format of .fvecs."""
    return b"".join(np.int32(X.shape[1]).tobytes() + row.tobytes() for row in X)


def make_parquet_files() -> list[bytes]:
    """Return tables with a column of lists, of fixed and of variable size."""
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    tables = [pa.table({"id": range(24), "v": fixed}), pa.table({"v": X.astype(float).tolist()})]
    return [write_and_read("x.parquet", lambda path, table=table: parquet.write_table(table, path))  # type: ignore[misc]
            for table in tables]  # fmt: skip


def make_hdf5_files() -> list[bytes]:
    """Return HDF5 files with a contiguous and with a compressed matrix."""

    def write(path: Path, **options: Any) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=X, **options)

    packed = {"chunks": (8, 4), "compression": "gzip", "fletcher32": True}
    return [
        write_and_read("x.h5", write),
        write_and_read("x.h5", lambda path: write(path, **packed)),
    ]


def make_csv_files() -> list[bytes]:
    """Return tables of numbers, with and without a header and a column of text."""
    rows = [",".join(map(str, row)) for row in X[:6].tolist()]
    named = ["id;text;v0;v1", '7;"a, b";0.5;1', "8;c;-1e-3;2"]
    return ["\n".join(table).encode() for table in (rows, ["a,b,c,d", *rows], named)]


def make_jsonl_files() -> list[bytes]:
    """Return arrays, and objects with an array."""
    rows = X[:6].tolist()
    items = [{"id": i, "v": row} for i, row in enumerate(rows)]
    return ["\n".join(map(json.dumps, values)).encode() for values in (rows, items)]


def make_safetensors_file() -> bytes:
    """Return two tensors."""
    return safetensors.numpy.save({"vectors": X, "y": X[:, 0]})


def make_idx_file() -> bytes:
    """Return a gzipped idx file, as MNIST has."""
    pixels = (np.abs(X) * 50).astype(np.uint8)
    return gzip.compress(
        b"\0\0\x08\x02" + np.array(pixels.shape, ">u4").tobytes() + pixels.tobytes()
    )


def make_images() -> list[bytes]:
    """Return an image in every format that can be uploaded."""
    pixels = np.random.default_rng(0).integers(0, 255, (9, 7, 4), dtype=np.uint8)
    files = []
    for form in ("PNG", "GIF", "BMP", "WEBP", "JPEG"):
        file = io.BytesIO()
        mode = "RGB" if form == "JPEG" else "RGBA"
        Image.fromarray(pixels).convert(mode).save(file, form)
        files.append(file.getvalue())
    return files


def write_index(folder: Path) -> None:
    """Write an index of two segments with removed items."""
    index = HammingIndex(12)
    index.add(make_codes())
    index.save(folder)
    writer = HammingIndex.open(folder, "a")
    writer.add(make_codes()[:7], np.arange(100, 107))
    writer.remove([3, 101])
    writer.close()


def write_zarr(folder: Path) -> None:
    """Write a chunked array."""
    zarr.create_array(folder, shape=X.shape, chunks=(8, 4), dtype="f4")[:] = X


def write_codes(path: Path) -> None:
    """Write a codes file."""
    save_codes(make_codes(), path)
