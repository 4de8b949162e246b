"""Files that a command reads: vectors, labels and codes of any format, and ``-`` for a pipe."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from bitfold import io
from bitfold._types import AnyArray
from bitfold.errors import DataError
from bitfold.io.atomic import FULL_DISK

VECTOR_FORMATS = (
    ".npy .npz .parquet .h5 .zarr .safetensors .csv .tsv .jsonl .fvecs .bvecs; FILE:NAME selects "
    "an array or field, or the columns of a CSV whose names begin with NAME; - reads .npy from "
    "stdin"
)
"""Formats of vectors, for help texts."""

LABEL_FORMATS = ".npy .npz .parquet .h5 .safetensors .csv .tsv .jsonl .txt"
"""Formats of labels, for help texts."""

SPOOL_ROWS = 4096
"""Rows of a pipe that are copied to the temporary file at once."""


class InputRef(NamedTuple):
    """A file, and the name of an array, column or data set in it."""

    path: Path
    name: str | None

    @classmethod
    def parse(cls, argument: Path) -> InputRef:
        """Read ``FILE`` or ``FILE:NAME``; the argument itself wins if such a file exists."""
        front, colon, name = str(argument).rpartition(":")
        if colon and front and name and not argument.exists() and Path(front).exists():
            return cls(Path(front), name)
        return cls(argument, None)

    @classmethod
    def parse_file(cls, argument: Path) -> InputRef:
        """Read ``FILE`` or ``FILE:NAME``; the file may be a folder only if it is a .zarr."""
        ref = cls.parse(argument)
        if ref.path.is_dir() and ref.path.suffix.lower() != ".zarr":
            raise IsADirectoryError(f"{ref.path} is a folder; a file or a .zarr is needed.")
        return ref


def check_exists(*arguments: Path | None) -> None:
    """Raise if an input file is missing; ``-`` and None are skipped."""
    for argument in arguments:
        if argument is None or str(argument) == "-":
            continue
        if not InputRef.parse(argument).path.exists():
            raise FileNotFoundError(f"{argument} does not exist.")


def open_vectors(argument: Path) -> Any:
    """Open vectors that are read once, from the first row to the last."""
    if str(argument) == "-":
        if sys.stdin is None:
            raise typer.BadParameter("- reads vectors from stdin, which is closed.")
        return io.open_vectors(sys.stdin.buffer)
    return io.open_vectors(*InputRef.parse_file(argument))


def open_rereadable_vectors(argument: Path) -> Any:
    """Open vectors that are read more than once; a pipe is copied to a temporary file."""
    opened = open_vectors(argument)
    return copy_to_disk(opened) if str(argument) == "-" else opened


def read_vectors(argument: Path) -> AnyArray:
    """Read vectors whose rows are accessed in any order; mapped where the format allows it."""
    if str(argument) == "-":
        return copy_to_disk(open_vectors(argument))
    return io.read_vectors(*InputRef.parse_file(argument))


def read_labels(argument: Path, n_rows: int | None = None) -> AnyArray:
    """Read labels; raise unless there is one per row."""
    labels = io.read_labels(*InputRef.parse_file(argument))
    if n_rows is not None and len(labels) != n_rows:
        raise DataError(f"{argument} has {len(labels)} labels, but there are {n_rows} rows.")
    return labels


def fingerprint(argument: Path) -> str:
    """Return a text that changes when the file does: its size and its date."""
    if str(argument) == "-":
        return ""
    path, name = InputRef.parse(argument)
    status = path.stat()
    return f"{name}:{status.st_size}:{status.st_mtime_ns}"


def is_codes_file(path: Path) -> bool:
    """Return whether a file contains codes, by its suffix; other files are models."""
    return path.suffix in (".codes", ".npy")


def copy_to_disk(stream: Any) -> AnyArray:
    """Copy a stream to a temporary file without a name, and map it."""
    with tempfile.TemporaryFile() as file:
        try:
            for _, block in io.iter_blocks(stream, SPOOL_ROWS):
                file.write(np.ascontiguousarray(block).data)
            file.flush()
        except OSError as error:
            if error.errno in FULL_DISK:
                error.filename = f"temporary file in {tempfile.gettempdir()}"
            raise
        return np.memmap(file, stream.dtype, "r", shape=stream.shape)
