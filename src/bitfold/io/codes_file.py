"""Codes to a file as they come: bounded memory, and after an interruption the work goes on.

While it is under way there are ``codes.npy.partial``, which holds the codes so far, and
``codes.npy.progress``, which says how many of them are safely on the disk and what they were made
from. At the end the first takes its name and the second goes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from bitfold._types import AnyArray, PathLike, ProgressCallback
from bitfold.codes import Codes
from bitfold.errors import InputChangedError
from bitfold.hashers import Hasher, _persistence
from bitfold.io import atomic, model_file, sources
from bitfold.io.rows import Rows
from bitfold.io.stream import Stream

_SAVE_SECONDS = 1.0
"""Work that a kill may cost."""

_LOOKED_AT = 16
"""Rows that tell one source from another; of a chunked one fewer, as each costs a chunk."""

_FORMAT = "bitfold codes 1"


def encode_to_file(
    hasher: Hasher,
    X: Any,
    path: PathLike,
    *,
    stamp: str = "",
    restart: bool = False,
    progress: ProgressCallback | None = None,
) -> int:
    """Encode into a .npy of packed codes, (n, bytes); return n.

    Codes are written as they are made, and forced to the disk every second or so. Called again
    after an interruption with the same model and vectors it goes on where it was; with others it
    raises :class:`InputChangedError`. The file has its name only when it is complete.

    Parameters
    ----------
    hasher
        A fitted hasher.
    X
        Vectors, as for :meth:`bitfold.hashers.Hasher.encode`.
    path
        The file to make or replace.
    stamp
        What else tells these vectors from others, such as the date of their file.
    restart
        Begin anew, whatever was done before.
    progress
        Called with (stage, done, total) as the work goes on.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> X = np.random.default_rng(0).random((1000, 8))
    >>> encode_to_file(LSH(16, random_state=0).fit(X), X, "codes.npy")
    1000
    >>> np.load("codes.npy").shape
    (1000, 2)
    """
    target = atomic.resolve_target(path)
    source = sources.open_source(X)
    made_from = {"model": _digest_of_model(hasher), "vectors": _digest_of(source, hasher, stamp)}
    with _Partial(target, hasher.n_bits_) as partial:
        partial.resume(made_from, restart=restart)
        for codes in hasher.encode_blocks(source, first=partial.rows, progress=progress):
            partial.append(codes)
        partial.finish()
        return partial.rows


class _Partial:
    """The unfinished file; it is locked while it is open."""

    def __init__(self, target: Path, n_bits: int) -> None:
        self.rows = 0
        self._target = target
        self._path = target.with_name(f"{target.name}.partial")
        self._note = target.with_name(f"{target.name}.progress")
        self._width = -(-n_bits // 8)
        self._start = len(_header(0, self._width))
        self._made_from: dict[str, str] = {}
        self._saved_at = time.monotonic()
        self._file: BinaryIO = _open_locked(self._path, target)

    def resume(self, made_from: dict[str, str], *, restart: bool) -> None:
        """Go on after the rows that are safe, if there are any and they are of these origins."""
        note = None if restart else self._read_note()
        for what, digest in made_from.items() if note else ():
            if note and note["made_from"].get(what) != digest:
                raise InputChangedError(
                    f"{self._path} must be finished with the {what} it was begun with, got "
                    "another; go on with that, or restart."
                )
        self._made_from, self.rows = made_from, note["rows"] if note else 0
        # How many rows there will be is not known yet; finish() says so.
        self._file.write(_header(0, self._width))
        self._file.truncate(self._start + self.rows * self._width)
        self._file.seek(0, os.SEEK_END)
        self._save()

    def append(self, codes: Codes) -> None:
        """Write codes; now and then make sure of them."""
        self._file.write(np.ascontiguousarray(codes.packed).data)
        self.rows += len(codes)
        if time.monotonic() - self._saved_at > _SAVE_SECONDS:
            self._save()

    def finish(self) -> None:
        """Give the file its name."""
        self._file.seek(0)
        self._file.write(_header(self.rows, self._width))
        self._sync()
        if self._target.exists():
            self._path.chmod(self._target.stat().st_mode & 0o7777)
        self._path.replace(self._target)
        atomic.sync_directory(self._target.parent)
        self._note.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None and not isinstance(problem, InputChangedError):
            # Worth keeping is what going on may finish; wrong vectors stay wrong.
            if self.rows and issubclass(kind, (KeyboardInterrupt, OSError, MemoryError)):
                with suppress(OSError):
                    self._save()
            else:
                self._path.unlink(missing_ok=True)
                self._note.unlink(missing_ok=True)
        with suppress(OSError):
            self._file.close()

    def _read_note(self) -> dict[str, Any] | None:
        """Return what the last run noted, if the codes that it speaks of are there."""
        with suppress(OSError):
            note = model_file.parse(self._note.read_bytes()) or {}
            rows, about = note.get("rows"), (note.get("format"), note.get("width"))
            if about == (_FORMAT, self._width) and type(rows) is int and rows > 0:
                enough = self._path.stat().st_size >= self._start + rows * self._width
                return note if enough and isinstance(note.get("made_from"), dict) else None
        return None

    def _save(self) -> None:
        self._sync()
        note = {"format": _FORMAT, "made_from": self._made_from, "width": self._width}
        with atomic.replace_atomically(self._note) as file:
            file.write(json.dumps(note | {"rows": self.rows}).encode())
        self._saved_at = time.monotonic()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())


def _open_locked(path: Path, target: Path) -> BinaryIO:
    """Open a file to go on writing, refused while another process does so."""
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            _lock(file)
            # Whoever held the lock may have finished the file, and it is no longer partial.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        except BlockingIOError:
            file.close()
            raise BlockingIOError(f"{target} is being written by another process.") from None
        file.close()


def _lock(file: BinaryIO) -> None:
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def _header(n_rows: int, width: int) -> bytes:
    """Header of a .npy, equally long for any number of rows: numpy leaves room for it to grow."""
    about = {"descr": "|u1", "fortran_order": False, "shape": (n_rows, width)}
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue()


def _digest_of_model(hasher: Hasher) -> str:
    kind, meta, arrays = _persistence.to_stored(hasher)
    digest = hashlib.sha256(json.dumps([kind, meta], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def _digest_of(source: Any, hasher: Hasher, stamp: str) -> str:
    """Tell vectors apart by shape, type, the stamp and some of their rows."""
    owner = type(hasher).__name__
    matrix = sources.check_source(source, owner)
    about = [sources.count_rows(matrix), sources.count_features(matrix), str(matrix.dtype), stamp]
    digest = hashlib.sha256(json.dumps(about).encode())
    digest.update(np.ascontiguousarray(_some_rows(matrix, owner)).data)
    return digest.hexdigest()


def _some_rows(matrix: Any, owner: str) -> AnyArray:
    """Rows from all over; of what is read forward those at the beginning."""
    n, streamed = sources.count_rows(matrix), isinstance(matrix, Stream)
    if n is None or (streamed and not matrix.seekable):
        first: AnyArray = matrix[:_LOOKED_AT]
        return first
    places = np.linspace(0, n - 1, 4 if streamed else _LOOKED_AT).astype(np.int64)
    # Through Rows, which gives the pages of a memory map back: here and there one, they add up.
    return Rows(matrix, np.zeros(sources.count_features(matrix), np.float32), owner).take(
        np.unique(places)
    )
