"""The files of an index: a folder that survives crashes, with one writer and any number of readers.

Segments are immutable files; the manifest lists the ones that form the index. A commit writes new
files, syncs them to the disk, replaces the manifest, and only then removes files that are no
longer listed. Whatever happens in between, the manifest on disk lists complete files. Readers take
no lock; files that they have mapped stay readable after they were removed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from bitfold import _validation
from bitfold._types import PathLike
from bitfold.errors import FormatError, LockedError
from bitfold.io import file_system
from bitfold.search.contract import MAX_BITS
from bitfold.search.disk import directory
from bitfold.search.disk import manifest as manifests
from bitfold.search.disk.loading import describe_segment, list_files, load_segments
from bitfold.search.disk.manifest import Manifest, ManifestFile, ManifestStore
from bitfold.search.disk.segment_file import DeletedFile, StoredSegment
from bitfold.search.segment import Segment

if TYPE_CHECKING:
    from filelock import BaseFileLock


class IndexSummary(NamedTuple):
    """What an index contains.

    Parameters
    ----------
    n_codes
        Number of codes.
    n_segments
        Number of segments that store them.
    n_bytes
        Size of the files of the segments.
    """

    n_codes: int
    n_segments: int
    n_bytes: int


class IndexFolder:
    """An index on disk; use :meth:`open` or :meth:`create`.

    Attributes
    ----------
    path
        The folder.
    n_bits
        Length of the codes.
    next_id
        The next automatic id, stored with the last commit.
    model_digest
        The model digest stored with the last commit.
    """

    def __init__(
        self,
        path: Path,
        n_bits: int,
        lock: BaseFileLock | None,
        manifest_store: ManifestStore | None = None,
    ) -> None:
        self.path = path
        self.n_bits = n_bits
        self.next_id = 0
        self.model_digest: str | None = None
        self._manifests = ManifestFile(path) if manifest_store is None else manifest_store
        self._generation = 0
        self._stored: list[StoredSegment] = []
        self._writer: int | None = None
        self._lock_id: tuple[int, int] | None = None
        if lock is not None:
            self._become_writer()
        # Also releases the lock of an object that is garbage-collected without being closed.
        self._release = weakref.finalize(self, lock.release if lock else _do_nothing)

    @classmethod
    def open(cls, path: PathLike, mode: str = "r") -> Self:
        """Open an index.

        Parameters
        ----------
        path
            The folder.
        mode
            "r" for reading; "a" for commits as well, by one writer at a time.

        Returns
        -------
        The open index.

        Raises
        ------
        FileNotFoundError
            The folder does not exist.
        FormatError
            The folder is not an index, or a file in it is damaged.
        LockedError
            Another writer has opened the index.
        """
        _validation.check_choice(mode, "mode", "IndexFolder", ("r", "a"))
        path = Path(path).absolute()
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist.")
        # Read before locking, which would create a file in a folder that is not an index.
        n_bits = manifests.read(path).n_bits
        folder = cls(path, n_bits, directory.lock_directory(path) if mode == "a" else None)
        try:
            folder._load()
        except BaseException:
            folder.close()
            raise
        return folder

    @classmethod
    def create(cls, path: PathLike, n_bits: int) -> Self:
        """Open a folder for a new index, which exists after the first commit.

        Parameters
        ----------
        path
            A folder of its own, created if necessary. An index in it stays valid until the commit.
        n_bits
            Length of the codes.

        Returns
        -------
        The folder, open for writing.

        Raises
        ------
        FileExistsError
            The path is a file, or a folder that contains something else.
        LockedError
            Another writer has opened the index.
        """
        _validation.check_integer(n_bits, "n_bits", "IndexFolder", low=1, high=MAX_BITS)
        path = Path(path).absolute()
        directory.prepare_directory(path)
        folder = cls(path, n_bits, directory.lock_directory(path))
        current = folder._read_manifest()
        folder._generation = current.generation if current else 0
        return folder

    @classmethod
    def attach(cls, path: Path, manifest_store: ManifestStore, *, is_writer: bool = False) -> Self:
        """Open an index that is part of something larger, which keeps its manifest.

        Parameters
        ----------
        path
            The folder.
        manifest_store
            Where the manifest is kept; writing it commits a change.
        is_writer
            Whether commits are allowed; the caller then holds the lock of the folder.

        Returns
        -------
        The open index.

        Raises
        ------
        FormatError
            A file of the index is damaged.
        """
        folder = cls(path, manifest_store.read().n_bits, None, manifest_store)
        if is_writer:
            folder._become_writer()
        folder._load()
        return folder

    @classmethod
    def attach_new(
        cls, path: Path, n_bits: int, manifest_store: ManifestStore, generation: int
    ) -> Self:
        """Prepare a new index as part of something larger; it exists after the first commit.

        Parameters
        ----------
        path
            The folder, whose lock the caller holds.
        n_bits
            Length of the codes.
        manifest_store
            Where the manifest is kept; writing it commits a change.
        generation
            Number of commits so far, so that files of an index in this folder keep their names.

        Returns
        -------
        The folder, open for writing.
        """
        folder = cls(path, n_bits, None, manifest_store)
        folder._become_writer()
        folder._generation = generation
        return folder

    @property
    def segments(self) -> list[Segment]:
        """The segments on disk, memory-mapped; each array is verified on first use."""
        return list(self._stored)

    def commit(
        self, segments: Sequence[Segment], next_id: int, model_digest: str | None = None
    ) -> None:
        """Replace the content of the index; it is on the disk when this returns.

        Parameters
        ----------
        segments
            The new content. Of segments from :attr:`segments`, only newly deleted items are
            written. Afterward, :attr:`segments` are these segments in the same order; pass those
            to the next commit.
        next_id
            The next automatic id.
        model_digest
            Digest of the model that made the codes, None if it is unknown.

        Raises
        ------
        FileNotFoundError
            The folder was deleted, also if there is a new one of the same name.
        OSError
            The files cannot be written. Nothing that was saved earlier is lost.
        """
        self._check_writer()
        self._check_folder()
        # Not reused even if this fails: a manifest with this number may be on the disk.
        self._generation += 1
        try:
            stored = [self._store(segment, number) for number, segment in enumerate(segments)]
            entries = tuple(map(describe_segment, stored))
            manifest = Manifest(self.n_bits, int(next_id), self._generation, model_digest, entries)
            self._manifests.write(manifest)
        except OSError as error:
            self._check_folder()
            self._undo()
            raise directory.explain_error(self.path, error) from error
        except BaseException:
            self._undo()
            raise
        self._check_folder()
        self._stored, self.next_id, self.model_digest = stored, int(next_id), model_digest
        with suppress(OSError):
            directory.remove_leftovers(self.path, list_files(stored))

    def verify(self) -> IndexSummary:
        """Check every byte of the segments, and return what the index contains.

        Raises
        ------
        FormatError
            The index is damaged.
        """
        for segment in self._stored:
            segment.verify()
        n_bytes = sum(file.n_bytes for segment in self._stored for file in segment.files)
        return IndexSummary(sum(map(len, self._stored)), len(self._stored), n_bytes)

    def writes_to(self, path: PathLike) -> bool:
        """Return whether this object is the writer of the index at ``path``."""
        is_writer = self._writer == os.getpid() and self._release.alive and self._is_in_place()
        return is_writer and Path(path).exists() and Path(path).samefile(self.path)

    def close(self) -> None:
        """Release the lock; the segments stay readable."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _become_writer(self) -> None:
        self._writer = os.getpid()
        # The lock keeps the file open, so no other file gets its number.
        self._lock_id = directory.identify_lock(self.path)

    def _load(self) -> None:
        """Open the listed files; a writer also removes leftovers."""
        if self._writer is not None:
            # The last writer may have been killed between replacing the manifest and syncing its
            # name. A power failure could then restore the old manifest, whose files are removed.
            file_system.sync_directory(self.path)
        manifest, self._stored = load_segments(self.path, self._manifests, self._may_write())
        self.n_bits, self.next_id, self._generation, self.model_digest, _ = manifest
        if self._writer is not None:
            removed = directory.remove_leftovers(self.path, manifest.files)
            directory.warn_about_leftovers(self.path, removed, self._generation)

    def _may_write(self) -> Callable[[], bool]:
        """Return a function that says whether this object is still the writer.

        It does not keep this object alive, whose end releases the lock.
        """
        folder = weakref.ref(self)

        def may_write() -> bool:
            current = folder()
            return current is not None and current.writes_to(current.path)

        return may_write

    def _check_writer(self) -> None:
        if self._writer is None:
            raise PermissionError(f"{self.path} is open for reading; open it with mode 'a'.")
        if not self._release.alive:
            raise ValueError(f"{self.path} is closed; open it again.")
        if os.getpid() != self._writer:
            raise LockedError(
                f"{self.path} was opened by another process; only that one can change it."
            )

    def _check_folder(self) -> None:
        if not self._is_in_place():
            raise FileNotFoundError(
                f"{self.path} was deleted or replaced while it was open for writing. "
                "Save the index to a new folder."
            )

    def _is_in_place(self) -> bool:
        """Return whether the folder is still the one that was opened."""
        found = directory.identify_lock(self.path)
        return found is not None and found == self._lock_id

    def _store(self, segment: Segment, number: int) -> StoredSegment:
        """Write the parts of a segment that are not on the disk yet."""
        known = {id(part) for stored in self._stored for part in (stored.file, stored.marks)}
        suffix = f"{self._generation}-{number}.bin"
        if isinstance(segment, StoredSegment) and id(segment.file) in known:
            stored = segment
        else:
            path = self.path / f"segment-{suffix}"
            stored = StoredSegment.write(path, segment, self.n_bits, self._may_write())
        if not segment.n_deleted or (stored is segment and id(stored.marks) in known):
            return stored
        marks = DeletedFile.write(self.path / f"deleted-{suffix}", segment.deleted)
        return stored.with_marks(marks)

    def _undo(self) -> None:
        """Remove what a failed commit wrote, unless the manifest already lists it."""
        with suppress(OSError, FormatError):
            self._check_folder()
            current = self._read_manifest()
            listed = current.files if current else set()
            directory.remove_leftovers(self.path, listed | list_files(self._stored))

    def _read_manifest(self) -> Manifest | None:
        return self._manifests.read() if self._manifests.exists() else None


def verify(path: PathLike) -> IndexSummary:
    """Check every byte of an index.

    Parameters
    ----------
    path
        The folder of the index.

    Returns
    -------
    What the index contains.

    Raises
    ------
    FormatError
        The index is damaged.
    """
    return IndexFolder.open(path).verify()


def _do_nothing() -> None:
    """Release nothing: readers have no lock."""
