"""Files that a verb reads: vectors and labels of any format, and ``-`` for a .npy from a pipe."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bitfold._types import AnyArray

if TYPE_CHECKING:
    from bitfold.io import Stream

FORMATS = ".npy .npz .parquet .h5 .zarr .fvecs .bvecs; FILE:NAME chooses in it; - is a .npy pipe"

_SPOOLED_ROWS = 4096


class Place(NamedTuple):
    """A file, and the name of what is wanted in it."""

    path: Path
    name: str | None

    @classmethod
    def of(cls, asked: Path) -> Place:
        """Read ``FILE`` or ``FILE:NAME``; a file that is there is meant itself."""
        front, colon, name = str(asked).rpartition(":")
        if colon and front and name and not asked.exists() and Path(front).exists():
            return cls(Path(front), name)
        return cls(asked, None)

    @classmethod
    def of_file(cls, asked: Path) -> Place:
        """Read ``FILE`` or ``FILE:NAME`` and demand a file, or the folder that a .zarr is."""
        place = cls.of(asked)
        if place.path.is_dir() and place.path.suffix.lower() != ".zarr":
            raise IsADirectoryError(f"{place.path} must be a file, or a .zarr, got a folder.")
        return place


def check_exists(*asked: Path | None) -> None:
    """Say at once what is missing, before anything heavy is imported."""
    for path in asked:
        if path is not None and str(path) != "-" and not Place.of(path).path.exists():
            raise FileNotFoundError(f"{path} does not exist.")


def open_vectors(asked: Path) -> Any:
    """Open vectors, mapped or streamed; those of a pipe can be read once."""
    from bitfold import io

    if str(asked) == "-":
        return io.open_vectors(sys.stdin.buffer)
    return io.open_vectors(*Place.of_file(asked))


def open_again(asked: Path) -> Any:
    """Open vectors that will be read more than once; a pipe is kept in a temporary file."""
    vectors = open_vectors(asked)
    return _spooled(vectors) if str(asked) == "-" else vectors


def read_vectors(asked: Path) -> AnyArray:
    """Read vectors to choose any rows of; what can be is mapped."""
    from bitfold import io

    if str(asked) == "-":
        return _spooled(open_vectors(asked))
    return io.read_vectors(*Place.of_file(asked))


def read_labels(asked: Path) -> AnyArray:
    """Read labels."""
    from bitfold import io

    return io.read_labels(*Place.of_file(asked))


def check_codes(found: Any, asked: Path) -> None:
    """Raise unless rows are of bytes, as packed codes are."""
    if str(found.dtype) != "uint8":
        made = "codes, the bytes that bitfold encode writes"
        raise ValueError(f"{asked} must hold {made}, got vectors of {found.dtype}.")


def stamp(asked: Path) -> str:
    """Tell a file from what it was before: its size and date."""
    if str(asked) == "-":
        return ""
    path, name = Place.of(asked)
    about = path.stat()
    return f"{name}:{about.st_size}:{about.st_mtime_ns}"


def _spooled(stream: Stream) -> AnyArray:
    """Copy a stream to a file without a name, and map it."""
    import numpy as np

    from bitfold.io import iter_blocks

    with tempfile.TemporaryFile() as file:
        for _, stored in iter_blocks(stream, _SPOOLED_ROWS):
            file.write(np.ascontiguousarray(stored).data)
        file.flush()
        return np.memmap(file, stream.dtype, "r", shape=stream.shape)
