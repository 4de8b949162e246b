"""The files of an index: a directory that survives a crash, with one writer and any readers.

Segments are immutable files; the manifest says which of them are the index. A commit writes new
files, forces them to the disk, replaces the manifest, and only then removes what it no longer
names: whatever happens in between, the manifest on disk names complete files. Readers take no
lock; what they have mapped stays readable after it was removed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from bitfold import _validation
from bitfold._types import PathLike
from bitfold.errors import FormatError
from bitfold.io.array_file import damage
from bitfold.search.contract import MAX_BITS
from bitfold.search.disk import lock
from bitfold.search.disk import manifest as manifests
from bitfold.search.disk.manifest import Entry, Manifest, Named
from bitfold.search.disk.segment_file import DeletedFile, SegmentFile, StoredSegment
from bitfold.search.segment import Segment


class Summary(NamedTuple):
    """What an index was found to hold: codes, segments, and the bytes of these."""

    n_codes: int
    n_segments: int
    n_bytes: int


class Folder:
    """An index on disk; made by :meth:`open` or :meth:`create`.

    Attributes
    ----------
    path
        Its directory.
    n_bits
        Length of the codes.
    next_id
        The number given to the last commit.
    """

    def __init__(self, path: Path, n_bits: int, descriptor: int | None) -> None:
        self.path = path
        self.n_bits = n_bits
        self.next_id = 0
        self.model_digest: str | None = None
        self._generation = 0
        self._stored: list[StoredSegment] = []
        self._writer = None if descriptor is None else os.getpid()
        # Gives the lock back also when a folder is forgotten without being closed.
        self._release = weakref.finalize(self, lock.unlock, descriptor)

    @classmethod
    def open(cls, path: PathLike, mode: str = "r") -> Self:
        """Open an index.

        Parameters
        ----------
        path
            Its directory.
        mode
            "r" to read; "a" to commit as well, which only one can at a time.
        """
        _validation.check_choice(mode, "mode", "Folder", ("r", "a"))
        path = Path(path).absolute()
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist.")
        # Before the lock: nothing is left behind in a directory that is no index.
        n_bits = manifests.read(path).n_bits
        folder = cls(path, n_bits, lock.lock(path) if mode == "a" else None)
        try:
            folder._load()
        except BaseException:
            folder.close()
            raise
        return folder

    @classmethod
    def create(cls, path: PathLike, n_bits: int) -> Self:
        """Open a directory to write a new index to; the first commit makes it one.

        Parameters
        ----------
        path
            A directory of its own, made if need be; an index in it stays until that commit.
        n_bits
            Length of the codes.
        """
        _validation.check_integer(n_bits, "n_bits", "Folder", low=1, high=MAX_BITS)
        path = Path(path).absolute()
        lock.make(path)
        folder = cls(path, n_bits, lock.lock(path))
        present = folder._present()
        folder._generation = present.generation if present else 0
        return folder

    @property
    def segments(self) -> list[Segment]:
        """What lies on the disk, mapped, each array verified when it is first used."""
        return list(self._stored)

    def commit(
        self, segments: Sequence[Segment], next_id: int, model_digest: str | None = None
    ) -> None:
        """Make these segments the content of the index; it is on the disk when this returns.

        Parameters
        ----------
        segments
            Those taken from :attr:`segments` are not written again, nor, where items were
            removed from them, is more than that. Afterward :attr:`segments` stand for them, in
            order; go on with those, so that the next commit knows them.
        next_id
            A number to keep with them.
        model_digest
            Digest of the model that made the codes, None if it is unknown.
        """
        self._check_writer()
        # Never used again, even if this fails: a manifest of this number may be on the disk.
        self._generation += 1
        try:
            stored = [self._store(segment, number) for number, segment in enumerate(segments)]
            entries = tuple(map(_entry, stored))
            manifests.write(
                self.path,
                Manifest(self.n_bits, int(next_id), self._generation, model_digest, entries),
            )
        except OSError as error:
            self._undo()
            raise _unsaved(self.path, error) from error
        except BaseException:
            self._undo()
            raise
        self._stored, self.next_id, self.model_digest = stored, int(next_id), model_digest
        with suppress(OSError):
            lock.sweep(self.path, _names(stored))

    def writes_to(self, path: PathLike) -> bool:
        """Whether this is the writer of the index at a path."""
        writer = self._writer == os.getpid() and self._release.alive
        return writer and Path(path).exists() and Path(path).samefile(self.path)

    def close(self) -> None:
        """Let others write; the segments stay readable."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _load(self) -> None:
        """Open what the manifest names; a writer also clears away what it does not."""
        content, self._stored = _load(self.path)
        self.n_bits, self.next_id, self._generation, self.model_digest, _ = content
        if self._writer is not None:
            dropped = lock.sweep(self.path, content.files)
            lock.warn_of(self.path, dropped, self._generation)

    def _check_writer(self) -> None:
        if self._writer is None:
            raise PermissionError(f"{self.path} is open to be read; open it with mode 'a'.")
        if not self._release.alive:
            raise ValueError(f"{self.path} is closed; open it again.")
        if os.getpid() != self._writer:
            raise BlockingIOError(f"{self.path} was opened by another process; only that writes.")

    def _store(self, segment: Segment, number: int) -> StoredSegment:
        """Write what is not on the disk yet of a segment."""
        own = {id(part) for kept in self._stored for part in (kept.body, kept.removed)}
        end = f"{self._generation}-{number}.bin"
        if isinstance(segment, StoredSegment) and id(segment.body) in own:
            body = segment.body
            if not segment.n_deleted or id(segment.removed) in own:
                return segment
        else:
            body = SegmentFile.write(self.path / f"segment-{end}", segment, self.n_bits)
        if not segment.n_deleted:
            return StoredSegment(body)
        return StoredSegment(body, DeletedFile.write(self.path / f"deleted-{end}", segment.deleted))

    def _undo(self) -> None:
        """Remove what a failed commit wrote, unless the manifest names it already."""
        with suppress(OSError, FormatError):
            present = self._present()
            named = present.files if present else set()
            lock.sweep(self.path, named | _names(self._stored))

    def _present(self) -> Manifest | None:
        """Return the manifest on the disk, if there is one."""
        exists = (self.path / manifests.NAME).exists()
        return manifests.read(self.path) if exists else None


def verify(path: PathLike) -> Summary:
    """Check every byte of an index; raise :class:`FormatError` at the first damage.

    Parameters
    ----------
    path
        The directory of an index.
    """
    stored = Folder.open(path)._stored
    for segment in stored:
        segment.verify()
    n_bytes = sum(file.size for segment in stored for file in segment.files)
    return Summary(sum(map(len, stored)), len(stored), n_bytes)


def _load(path: Path) -> tuple[Manifest, list[StoredSegment]]:
    """Open what the manifest names; again if a writer has removed a file meanwhile."""
    content = manifests.read(path)
    while True:
        try:
            return content, [_open(path, content.n_bits, entry) for entry in content.entries]
        except FileNotFoundError as error:
            previous, content = content, manifests.read(path)
            if content == previous:
                missing = Path(error.filename)
                raise damage(missing, f"{missing.name} is missing") from None


def _open(path: Path, n_bits: int, entry: Entry) -> StoredSegment:
    for named in filter(None, entry):
        size = (path / named.file).stat().st_size
        if size != named.size:
            raise damage(path / named.file, f"{named.file} has {size} bytes, not {named.size}")
    body = SegmentFile(path / entry.segment.file, n_bits)
    stored = StoredSegment(body)
    if entry.deleted:
        stored = StoredSegment(body, DeletedFile(path / entry.deleted.file, body.n_items))
    if _entry(stored) != entry:
        raise damage(body.file.path, f"{body.file.path.name} is not what the manifest names")
    return stored


def _entry(stored: StoredSegment) -> Entry:
    body, *deleted = map(Named.of, stored.files)
    return Entry(body, deleted[0] if deleted else None)


def _names(stored: list[StoredSegment]) -> set[str]:
    return {file.path.name for segment in stored for file in segment.files}


def _unsaved(path: Path, error: OSError) -> OSError:
    """Say what could not be done, and that no harm came of it."""
    why = error.strerror or str(error).rstrip(".")
    said = type(error)(f"{path} could not be saved: {why}; nothing that was in it is lost.")
    said.errno = error.errno
    return said
