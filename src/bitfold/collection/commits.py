"""Commits: one transaction of SQLite makes all parts of a change valid at once.

New rows, codes and models are on the disk before it, in places that no reader looks at. Files that
are no longer needed are removed after it. A writer that is killed in between leaves files and rows
behind, which the next writer removes.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bitfold.collection.database import Database
from bitfold.collection.folder import name_model, remove_leftovers
from bitfold.collection.items import ItemsTable
from bitfold.collection.snapshot import Snapshot
from bitfold.collection.state import CollectionState
from bitfold.errors import FormatError, LockedError
from bitfold.hashers import Hasher
from bitfold.io import file_system
from bitfold.search import HammingIndex
from bitfold.search.disk import directory
from bitfold.search.disk.index_folder import IndexFolder
from bitfold.search.disk.manifest import Manifest

if TYPE_CHECKING:
    from filelock import BaseFileLock

InTransaction = Callable[[sqlite3.Connection, int], None]
"""Called with the connection and the new generation, in the transaction of a commit."""


class FixedManifest(NamedTuple):
    """The manifest of the codes in a state that was read; it does not change."""

    state: CollectionState

    def exists(self) -> bool:
        """Return whether there are codes."""
        return self.state.index is not None

    def read(self) -> Manifest:
        """Return the manifest."""
        if self.state.index is None:
            raise FormatError("The collection has no codes.")
        return self.state.index

    def write(self, manifest: Manifest) -> None:
        """Raise, because readers write nothing."""
        raise PermissionError("The collection is open for reading.")


class StateCommitter:
    """Where the index of a writer keeps its manifest: in the state, with everything else.

    Parameters
    ----------
    database
        The database.

    Attributes
    ----------
    state
        The state to commit with the next manifest; afterward, the one that was committed.
    in_transaction
        What else to change in the same transaction.
    """

    def __init__(self, database: Database) -> None:
        self.state: CollectionState | None = None
        self.in_transaction: InTransaction | None = None
        self._database = database

    def exists(self) -> bool:
        """Return whether there are codes."""
        return self._database.has_state() and self._database.read_state().index is not None

    def read(self) -> Manifest:
        """Return the manifest of the last commit."""
        return FixedManifest(self._database.read_state()).read()

    def write(self, manifest: Manifest | None) -> None:
        """Replace the state, which commits the change."""
        if self.state is None:
            raise FormatError("The index of a collection is changed by the collection only.")
        state = replace(self.state, index=manifest, generation=self.state.generation + 1)
        with self._database.writing() as connection:
            if self.in_transaction is not None:
                self.in_transaction(connection, state.generation)
            self._database.write_state(connection, state)
        self.state = state


class CollectionFolder:
    """The folder of a collection that this process writes to.

    Parameters
    ----------
    path
        The folder.
    database
        The database in it.
    lock
        The lock of the folder, which :meth:`close` releases.
    """

    def __init__(self, path: Path, database: Database, lock: BaseFileLock) -> None:
        self.path = path
        self.database = database
        self._index: HammingIndex | None = None
        self._committer = StateCommitter(database)
        self._lock_id = directory.identify_lock(path)
        self._process = os.getpid()
        # Also releases the lock of an object that is garbage-collected without being closed.
        self._release = weakref.finalize(self, lock.release)

    def load(self) -> Snapshot:
        """Return the content on the disk, and remove what an interrupted writer left."""
        # The last writer may have been killed between renaming a file and syncing its name.
        file_system.sync_directory(self.path)
        state = self.database.read_state()
        self._index = None
        if state.index is not None:
            folder = IndexFolder.attach(self.path, self._committer, is_writer=True)
            self._index = HammingIndex.from_folder(folder)
        ItemsTable(self.database, state).truncate()
        remove_leftovers(self.path, state)
        return self._make_snapshot(state)

    def commit(
        self,
        state: CollectionState,
        change_codes: Callable[[HammingIndex], None] | None = None,
        *,
        n_new_bits: int | None = None,
        in_transaction: InTransaction | None = None,
        hasher: Hasher | None = None,
    ) -> Snapshot:
        """Make a change valid, durably; return the new content.

        Parameters
        ----------
        state
            The new state, except for its generation and codes.
        change_codes
            Changes the codes; None if there are none.
        n_new_bits
            Code length of an empty index to change, in place of the present one.
        in_transaction
            What else to change in the transaction.
        hasher
            The fitted hasher of the state, if it is in memory.
        """
        self.check()
        committer = self._committer
        committer.state, committer.in_transaction = state, in_transaction
        index = self._index if n_new_bits is None else self._start_index(n_new_bits, state)
        if change_codes is None or index is None:
            index = None
            committer.write(None)
        else:
            change_codes(index)
            if committer.state is state:  # nothing was added, which alone is not a commit
                index.remove([])
        self._index = index
        with suppress(OSError):
            remove_leftovers(self.path, committer.state)
        return self._make_snapshot(committer.state, hasher)

    def save_model(self, hasher: Hasher, state: CollectionState) -> CollectionState:
        """Write a fitted hasher, and return the state with it."""
        name = name_model(state.generation + 1)
        hasher.save(self.path / name)
        return replace(state, model=name)

    def check(self) -> None:
        """Raise unless this process may write to the folder, and it is still there."""
        if not self._release.alive:
            raise ValueError(f"{self.path} is closed; open it again.")
        if os.getpid() != self._process:
            raise LockedError(
                f"{self.path} was opened by another process; only that one can change it."
            )
        found = directory.identify_lock(self.path)
        if found is None or found != self._lock_id:
            raise FileNotFoundError(
                f"{self.path} was deleted or replaced while it was open for writing."
            )

    def close(self) -> None:
        """Release the lock."""
        if os.getpid() == self._process:
            self._release()

    def _start_index(self, n_bits: int, state: CollectionState) -> HammingIndex:
        # Above the numbers of all files that belong to the last commit.
        manifest = self._committer.read() if self._committer.exists() else None
        generation = max(state.generation, manifest.generation if manifest else 0)
        folder = IndexFolder.attach_new(self.path, n_bits, self._committer, generation)
        return HammingIndex.from_folder(folder)

    def _make_snapshot(self, state: CollectionState, hasher: Hasher | None = None) -> Snapshot:
        index = None if self._index is None else self._index.snapshot()
        return Snapshot(self.path, self.database, state, index, hasher)
