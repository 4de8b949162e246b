"""Targets that read bytes as a file: an error of bitfold is fine, anything else is a finding.

Models, codes files and indexes have checksums. What is read from a changed file must therefore be
what was written, or an error.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bitfold as bf
from bitfold.datasets.mnist import read_idx
from bitfold.errors import BitfoldError
from bitfold.explorer.image_features import ImageFeatures
from bitfold.explorer.queries import read_upload
from bitfold.io import iter_blocks, open_codes, open_vectors, read_labels, read_vectors
from fuzz import samples


class Target(NamedTuple):
    """What is fuzzed: valid inputs, and a function that raises if bitfold mishandles an input."""

    seeds: Callable[[], list[bytes]]
    check: Callable[[bytes], None]


@cache
def _work_folder() -> Path:
    """Return a folder for the files of this process."""
    # Kept alive until the process ends, and then removed.
    _work_folder.kept = tempfile.TemporaryDirectory()  # type: ignore[attr-defined]
    return Path(_work_folder.kept.name)  # type: ignore[attr-defined]


def read_as(name: str, read: Callable[[Path], Any], content: bytes) -> Any:
    """Read bytes as a file with a certain name; return None if bitfold rejects it."""
    path = _work_folder() / name
    path.write_bytes(content)
    try:
        return read(path)
    except BitfoldError:
        return None


def _read_all(path: Path) -> None:
    """Read vectors in both ways, to the last row."""
    for _, block in iter_blocks(open_vectors(path), 16):
        np.asarray(block).sum()
    np.asarray(read_vectors(path)).sum()


def _check_vectors(name: str, content: bytes) -> None:
    read_as(name, _read_all, content)


def _check_labels(name: str, content: bytes) -> None:
    read_as(name, read_labels, content)


def _check_idx(content: bytes) -> None:
    read_as("x.gz", read_idx, content)


@cache
def _model_files() -> list[bytes]:
    return [samples.write_and_read("m.bitfold", hasher.save) for hasher in samples.make_hashers()]


@cache
def _model_digests() -> set[str]:
    return {hasher.model_digest for hasher in samples.make_hashers()}


def check_model(content: bytes) -> None:
    """Load a model; a changed file must not give another one."""
    for mmap in (False, True):
        hasher = read_as("m.bitfold", partial(bf.load, mmap=mmap), content)
        if hasher is not None:
            hasher.encode(samples.X)
            assert hasher.model_digest in _model_digests()


def check_codes(content: bytes) -> None:
    """Open a codes file; a changed file must not give other codes."""
    codes = read_as("x.codes", open_codes, content)
    if codes is not None and not content.startswith(b"\x93NUMPY"):
        assert codes.packed.tobytes() == samples.make_codes().packed.tobytes()


def _write_folder(name: str, write: Callable[[Path], None]) -> list[Path]:
    """Write a folder once; return its files."""
    folder = _work_folder() / name
    if not folder.exists():
        write(folder)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _folder_seeds(name: str, write: Callable[[Path], None]) -> list[bytes]:
    """Return one seed per file: its number, and its content."""
    return [
        bytes([number]) + file.read_bytes()
        for number, file in enumerate(_write_folder(name, write))
    ]


def _copy_with_change(name: str, write: Callable[[Path], None], content: bytes) -> Path:
    """Return a copy of a folder in which the content of one file is replaced."""
    files = _write_folder(name, write)
    copy = _work_folder() / f"copy-{name}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(_work_folder() / name, copy)
    changed = files[content[0] % len(files)] if content else files[0]
    (copy / changed.relative_to(_work_folder() / name)).write_bytes(content[1:])
    return copy


@cache
def _true_items() -> dict[int, bytes]:
    _write_folder("i.index", samples.write_index)
    return _list_items(_work_folder() / "i.index")


def _list_items(path: Path) -> dict[int, bytes]:
    index = bf.HammingIndex.open(path)
    index.search(samples.make_codes(), k=5)
    return {
        item: row.tobytes()
        for batch in index.batches()
        for item, row in zip(batch.ids.tolist(), batch.codes.packed, strict=True)
    }


def check_index(content: bytes) -> None:
    """Open an index with one changed file; it must hold what was added, or be rejected."""
    expected = _true_items()
    path = _copy_with_change("i.index", samples.write_index, content)
    try:
        items = _list_items(path)
    except BitfoldError:
        return
    assert items == expected


def _check_zarr(content: bytes) -> None:
    path = _copy_with_change("x.zarr", samples.write_zarr, content)
    try:
        _read_all(path)
    except BitfoldError:
        return


_PIXELS = ImageFeatures("pixels", (4, 1), "L", lambda pixels: pixels, 1.0)


def check_upload(content: bytes) -> None:
    """Read an upload of the explorer."""
    try:
        vector, _ = read_upload(content, _PIXELS)
    except BitfoldError:
        return
    assert vector.ndim == 1 and np.isfinite(vector).all()


def _upload_seeds() -> list[bytes]:
    return [*samples.make_images(), *samples.make_npy_files()[:2], b"1, 2.5 -3e2;[4]"]


READERS: dict[str, Target] = {
    "model": Target(_model_files, check_model),
    "codes": Target(lambda: [samples.write_and_read("x.codes", samples.write_codes)], check_codes),
    "index": Target(partial(_folder_seeds, "i.index", samples.write_index), check_index),
    "npy": Target(samples.make_npy_files, partial(_check_vectors, "x.npy")),
    "npz": Target(lambda: [samples.make_npz_file()], partial(_check_vectors, "x.npz")),
    "fvecs": Target(lambda: [samples.make_texmex_file()], partial(_check_vectors, "x.fvecs")),
    "parquet": Target(samples.make_parquet_files, partial(_check_vectors, "x.parquet")),
    "hdf5": Target(samples.make_hdf5_files, partial(_check_vectors, "x.h5")),
    "csv": Target(samples.make_csv_files, partial(_check_vectors, "x.csv")),
    "jsonl": Target(samples.make_jsonl_files, partial(_check_vectors, "x.jsonl")),
    "tensors": Target(
        lambda: [samples.make_safetensors_file()], partial(_check_vectors, "x.safetensors")
    ),
    "zarr": Target(partial(_folder_seeds, "x.zarr", samples.write_zarr), _check_zarr),
    "idx": Target(lambda: [samples.make_idx_file()], _check_idx),
    "labels": Target(lambda: [b"1\n2\n-1\n", "ä\n\n7".encode()], partial(_check_labels, "y.txt")),
    "upload": Target(_upload_seeds, check_upload),
}
"""Targets by name."""
