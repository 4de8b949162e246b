"""Encoding into a file that survives interruptions.

While :func:`encode_to_file` runs, ``x.codes.partial`` contains the codes so far, and
``x.codes.progress`` says how many of them are safely on the disk and which inputs they were made
from. At the end the first is renamed and the second removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from bitfold._types import AnyArray, PathLike, ProgressCallback
from bitfold.codes import Codes, count_bytes
from bitfold.errors import InputChangedError, NewerFormatError
from bitfold.io import file_system, sources
from bitfold.io.atomic import acquire_lock, remove_lock, replace_atomically, resolve_target
from bitfold.io.codes_file import encode_codes_header, encode_npy_header, is_npy_name
from bitfold.io.file_checks import check_version, parse_json_object
from bitfold.io.rows import Rows, count_features, count_rows
from bitfold.io.stream import Stream

_NOTE_VERSION = 1

_SYNC_SECONDS = 1.0
"""Seconds between two syncs: the work that a kill can lose."""

_N_SAMPLED_ROWS = 16
"""Number of rows that are hashed to identify a source."""

_N_SAMPLED_STREAM_ROWS = 4
"""The same for a source of compressed chunks, where reading a row reads a chunk."""


class FittedHasher(Protocol):
    """What :func:`encode_to_file` needs of a fitted hasher."""

    n_bits_: int

    @property
    def model_digest(self) -> str:
        """Identifier of the fitted model."""

    def encode_blocks(
        self, X: Any, *, first: int = 0, progress: ProgressCallback | None = None
    ) -> Iterator[Codes]:
        """Yield the codes of the rows from ``first``, in blocks."""


def encode_to_file(
    hasher: FittedHasher,
    X: Any,
    path: PathLike,
    *,
    stamp: str = "",
    restart: bool = False,
    progress: ProgressCallback | None = None,
) -> int:
    """Encode vectors into a codes file, in bounded memory.

    Codes are written as they are made, and synced to the disk about every second. After an
    interruption, the same call continues after the last synced block. The file gets its name only
    when it is complete.

    Parameters
    ----------
    hasher
        A fitted hasher.
    X
        Vectors, as for :meth:`bitfold.hashers.base.Hasher.encode`.
    path
        The file to create or replace, by convention with the suffix ".codes". With the suffix
        ".npy" it becomes an array of packed codes in numpy's format.
    stamp
        Anything else that distinguishes these vectors from others, such as the date of their file.
    restart
        Start from the beginning instead of continuing an interrupted run.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Number of codes in the file.

    Raises
    ------
    InputChangedError
        An interrupted run used another model or other vectors.
    LockedError
        Another process is writing the same file.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> X = np.random.default_rng(0).random((1000, 8))
    >>> hasher = LSH(n_bits=12, random_state=0).fit(X)
    >>> encode_to_file(hasher, X, "vectors.codes")
    1000
    >>> from bitfold.io import open_codes
    >>> open_codes("vectors.codes")
    Codes(1000 x 12 bits)
    """
    target = resolve_target(path)
    source = sources.open_source(X)
    vectors = _digest_source(source, type(hasher).__name__, stamp)
    inputs = {"model": hasher.model_digest, "vectors": vectors}
    with _PartialFile(target, hasher.n_bits_, inputs) as partial:
        if not restart:
            partial.read_progress()
        partial.start()
        for codes in hasher.encode_blocks(source, first=partial.n_rows, progress=progress):
            partial.append(codes)
        partial.finish()
        return partial.n_rows


def discard_partial(path: PathLike) -> None:
    """Remove what an interrupted :func:`encode_to_file` has kept.

    Parameters
    ----------
    path
        The file that was to be written.

    Examples
    --------
    >>> discard_partial("vectors.codes")
    """
    for suffix in (".partial", ".progress"):
        target = Path(path).resolve()
        file_system.remove_file(target.with_name(target.name + suffix))


class _PartialFile:
    """An unfinished file; it is locked while it is open."""

    def __init__(self, target: Path, n_bits: int, inputs: dict[str, str]) -> None:
        self.n_rows = 0
        self._target = target
        self._path = target.with_name(f"{target.name}.partial")
        self._note = target.with_name(f"{target.name}.progress")
        self._n_bits = n_bits
        self._n_bytes = count_bytes(n_bits)
        self._inputs = inputs
        self._checksum = 0
        self._synced_at = time.monotonic()
        self._start = len(self._encode_header())
        message = f"{target} is being written by another process."
        self._lock = acquire_lock(target.with_name(f"{target.name}.lock"), message)
        try:
            self._file = file_system.open_file(self._path)
        except BaseException:
            remove_lock(self._lock)
            raise

    def read_progress(self) -> None:
        """Count the rows that the last run left on the disk; raise if it had other inputs."""
        try:
            note = parse_json_object(self._note.read_bytes())
        except OSError:
            return
        if note is None or note.get("format") != "bitfold progress":
            return
        check_version(self._note, note.get("format_version"), _NOTE_VERSION)
        n_rows, checksum = note.get("n_rows", 0), note.get("crc32", 0)
        if type(n_rows) is not int or type(checksum) is not int or n_rows < 1:
            return
        if self._path.stat().st_size < self._start + n_rows * self._n_bytes:
            return
        before = note.get("inputs")
        for name, digest in self._inputs.items():
            if not isinstance(before, dict) or before.get(name) != digest:
                raise InputChangedError(
                    f"{self._path} cannot be continued: the {name} changed since it was started. "
                    f"Use the same {name}, or restart from the beginning."
                )
        self.n_rows, self._checksum = n_rows, checksum

    def start(self) -> None:
        """Prepare to append after the rows that are on the disk."""
        # The number of rows is unknown until finish(), which replaces the header.
        self._file.write(self._encode_header())
        self._file.truncate(self._start + self.n_rows * self._n_bytes)
        self._file.seek(0, os.SEEK_END)
        self._save()

    def append(self, codes: Codes) -> None:
        """Write codes, and sync them from time to time."""
        data = np.ascontiguousarray(codes.packed).data
        self._file.write(data)
        self._checksum = zlib.crc32(data, self._checksum)
        self.n_rows += len(codes)
        if time.monotonic() - self._synced_at > _SYNC_SECONDS:
            self._save()

    def finish(self) -> None:
        """Complete the header and rename the file."""
        self._file.seek(0)
        self._file.write(self._encode_header())
        file_system.sync_file(self._file)
        file_system.copy_mode(self._target, self._path)
        file_system.rename(self._path, self._target)
        file_system.sync_directory(self._target.parent)
        file_system.remove_file(self._note)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: object
    ) -> None:
        if kind is not None and not isinstance(problem, (InputChangedError, NewerFormatError)):
            # Kept only if another run can finish it: invalid vectors stay invalid.
            if self.n_rows and issubclass(kind, (KeyboardInterrupt, OSError, MemoryError)):
                with suppress(OSError):
                    self._save()
            else:
                file_system.remove_file(self._path)
                file_system.remove_file(self._note)
        with suppress(OSError):
            self._file.close()
        remove_lock(self._lock)

    def _encode_header(self) -> bytes:
        """Return a header whose length does not depend on the number of rows."""
        shape = (self.n_rows, self._n_bytes)
        if is_npy_name(self._target):
            return encode_npy_header(shape)
        return encode_codes_header(shape, self._n_bits, self._inputs["model"], self._checksum)

    def _save(self) -> None:
        file_system.sync_file(self._file)
        note = {
            "format": "bitfold progress",
            "format_version": _NOTE_VERSION,
            "inputs": self._inputs,
            "n_rows": self.n_rows,
            "crc32": self._checksum,
        }
        with replace_atomically(self._note) as file:
            file.write(json.dumps(note).encode())
        self._synced_at = time.monotonic()


def _digest_source(source: Any, owner: str, stamp: str) -> str:
    """Identify vectors by shape, type, stamp and some of their rows."""
    matrix = sources.check_source(source, owner)
    about = [count_rows(matrix), count_features(matrix), str(matrix.dtype), stamp]
    digest = hashlib.sha256(json.dumps(about).encode())
    digest.update(np.ascontiguousarray(_sample_rows(matrix, owner)).data)
    return digest.hexdigest()


def _sample_rows(matrix: Any, owner: str) -> AnyArray:
    """Return evenly spaced rows, or the first rows of a source that can only be read forward."""
    n, streamed = count_rows(matrix), isinstance(matrix, Stream)
    if n is None or (streamed and not matrix.is_seekable):
        return np.asarray(matrix[:_N_SAMPLED_ROWS])
    count = _N_SAMPLED_STREAM_ROWS if streamed else _N_SAMPLED_ROWS
    positions = np.unique(np.linspace(0, n - 1, count).astype(np.int64))
    # Rows releases the pages of a memory map, which would otherwise add up.
    return Rows(matrix, np.zeros(count_features(matrix), np.float32), owner).take(positions)
