"""Changes of a collection, one at a time: add, remove, rebuild, compact."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bitfold._progress import show_progress
from bitfold._threads import SharedLock
from bitfold._types import Int64Array, ProgressCallback
from bitfold.codes import Codes
from bitfold.collection.additions import Addition, NewRows
from bitfold.collection.appender import RowsAppender
from bitfold.collection.commits import CollectionFolder
from bitfold.collection.database import Database
from bitfold.collection.fitting import fit_hasher, is_fitted, needs_codes, use_hasher
from bitfold.collection.items import ItemsTable
from bitfold.collection.snapshot import LiveVectors, Snapshot, map_vectors
from bitfold.collection.state import CollectionState
from bitfold.errors import DataError
from bitfold.hashers import Hasher
from bitfold.search import HammingIndex

_MAX_REMOVED_ROWS = 10_000
"""Number of removed rows without codes above which they are dropped: the state lists them."""


class CollectionWriter:
    """Makes changes; after each, :attr:`snapshot` is the new content.

    Parameters
    ----------
    folder
        The folder, locked by this process.
    snapshot
        The content before the first change.
    """

    def __init__(self, folder: CollectionFolder, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._folder = folder
        self._lock = SharedLock()
        self._is_consistent = True

    @property
    def database(self) -> Database:
        """The database of the collection."""
        return self._folder.database

    def wait(self) -> None:
        """Wait until a change of another thread is complete."""
        with self._lock:
            pass

    def close(self) -> None:
        """Wait for a change of another thread, and release the lock of the folder."""
        with self._lock:
            self._folder.close()

    def start(self, rows: NewRows | None, progress: ProgressCallback | None) -> None:
        """Make the first commit, with or without rows."""
        if rows is not None:
            self.add(rows, progress)
            return
        with self._change() as state:
            hasher = self.snapshot.hasher
            if hasher is None:
                self._commit(state)
            else:
                self._commit_codes(state, hasher, None)

    def add(self, rows: NewRows, progress: ProgressCallback | None) -> None:
        """Add rows, and fit the hasher if there are enough of them now."""
        with self._change() as state, show_progress(progress) as report:
            addition = Addition(rows, state)
            hasher = self.snapshot.hasher
            if hasher is None and addition.can_be_fitted:
                hasher = fit_hasher(addition.state, rows.X, report)
            known = self.snapshot.ids if state.n_rows else None
            target = addition.choose_format(is_coded=hasher is not None)
            with RowsAppender(self._folder.path, self._folder.database, target, known) as appender:
                codes = addition.write(appender, hasher, report)
                added = addition.finish(appender)
            if hasher is None:
                self._commit_vectors(added, report)
            elif state.is_fitted and codes is not None:
                numbers = np.arange(state.n_rows, added.n_rows)
                self._commit(added, partial(_add_codes, codes, numbers), hasher=hasher)
            else:
                self._commit_codes(added, hasher, codes)

    def remove(self, ids: Any) -> None:
        """Remove items by id."""
        with self._change() as state:
            rows = np.unique(self.snapshot.ids.find_known(ids))
            if not len(rows):
                return
            table = ItemsTable(self._folder.database, state)
            changed, removed = replace(state, n_items=state.n_items - len(rows)), ()
            if not state.is_fitted:
                removed = tuple(np.union1d(state.removed, rows).astype(int).tolist())
            self.snapshot = self._folder.commit(
                replace(changed, removed=removed),
                partial(_remove_codes, rows) if state.is_fitted else None,
                in_transaction=partial(table.remove, rows),
                hasher=self.snapshot.loaded_hasher,
            )
        if len(removed) > _MAX_REMOVED_ROWS:
            self.compact(None)

    def rebuild(self, hasher: Hasher | None, progress: ProgressCallback | None) -> None:
        """Fit the hasher to the kept vectors, and encode them again."""
        with self._change() as state, show_progress(progress) as report:
            state, rows = use_hasher(state, hasher), self.snapshot.live_rows
            live = self._open_rows(state, rows) if len(rows) else None
            if hasher is not None and is_fitted(hasher):
                fitted = hasher
            elif needs_codes(state.n_items):
                fitted = fit_hasher(state, live, report)
            elif len(rows):
                removed = np.setdiff1d(np.arange(state.n_rows), rows, assume_unique=True)
                self._commit(replace(state, model=None, removed=tuple(removed.tolist())))
                return
            else:
                # Without vectors, no file can be appended to, so a new epoch starts.
                self._commit(replace(state.start_epoch(), model=None, stored=None))
                return
            self._encode_rows(state, fitted, rows, report)

    def compact(self, progress: ProgressCallback | None) -> None:
        """Copy the live rows to new files, in which nothing removed takes space."""
        with self._change() as state, show_progress(progress) as report:
            before = self.snapshot
            if state.n_items < state.n_rows:
                target = state.start_epoch()
                with RowsAppender(self._folder.path, self._folder.database, target) as appender:
                    before.copy_rows(appender, report)
                    compacted = appender.finish()
                self._commit(
                    compacted,
                    partial(_move_codes, before) if before.index is not None else None,
                    n_new_bits=None if before.index is None else before.index.n_bits,
                    hasher=before.loaded_hasher,
                )
            self._folder.database.vacuum()

    @contextmanager
    def _change(self) -> Iterator[CollectionState]:
        """Yield the state to change; after an error, nothing has changed."""
        with self._lock:
            self._folder.check()
            if not self._is_consistent:
                self._reload()
            self._is_consistent = False
            try:
                yield self.snapshot.state
                self._is_consistent = True
            except BaseException:
                # If this fails too, the next change tries again.
                with suppress(Exception):
                    self._reload()
                raise

    def _reload(self) -> None:
        self._folder.check()
        self.snapshot = self._folder.load()
        self._is_consistent = True

    def _commit_vectors(self, state: CollectionState, report: ProgressCallback) -> None:
        """Commit rows that have no codes; fit the hasher if there are enough of them now."""
        if not needs_codes(state.n_items):
            self._commit(state)
            return
        rows = np.setdiff1d(np.arange(state.n_rows), state.removed, assume_unique=True)
        hasher = fit_hasher(state, self._open_rows(state, rows), report)
        self._encode_rows(state, hasher, rows, report)

    def _encode_rows(
        self, state: CollectionState, hasher: Hasher, rows: Int64Array, report: ProgressCallback
    ) -> None:
        """Encode kept vectors, and commit their codes."""
        codes = None
        if len(rows):
            codes = hasher.encode(self._open_rows(state, rows), progress=report)
        self._commit_codes(state, hasher, codes, rows)

    def _open_rows(self, state: CollectionState, rows: Int64Array) -> LiveVectors:
        """Return the stored vectors of some rows, which need not be committed yet."""
        vectors = map_vectors(self._folder.path, state)
        if vectors is None:
            raise DataError(
                "The collection keeps no vectors to fit a hasher to; create it again with "
                "keep_vectors."
            )
        return LiveVectors(vectors, rows)

    def _commit_codes(
        self,
        state: CollectionState,
        hasher: Hasher,
        codes: Codes | None,
        rows: Int64Array | None = None,
    ) -> None:
        """Commit a new hasher, and the codes of all live rows."""
        state = self._folder.save_model(hasher, replace(state, removed=()))
        if not state.keep_vectors:
            state = state.drop_vectors()
        add = None if codes is None else partial(_add_codes, codes, rows)
        self._commit(state, add or _do_nothing, n_new_bits=hasher.n_bits_, hasher=hasher)

    def _commit(self, state: CollectionState, *args: Any, **kwargs: Any) -> None:
        """Commit, and drop the tables of earlier epochs in the same transaction."""
        drop_others = ItemsTable(self._folder.database, state).drop_others
        kwargs["in_transaction"] = drop_others
        self.snapshot = self._folder.commit(state, *args, **kwargs)


def _add_codes(codes: Codes, rows: Int64Array | None, index: HammingIndex) -> None:
    index.add(codes, ids=rows)


def _remove_codes(rows: Int64Array, index: HammingIndex) -> None:
    index.remove(rows)


def _move_codes(before: Snapshot, index: HammingIndex) -> None:
    """Add the codes of a snapshot, numbered by their positions among the live rows."""
    batches = [] if before.index is None else list(before.index.batches())
    if batches:
        rows = np.concatenate([batch.ids for batch in batches])
        codes = Codes.concatenate([batch.codes for batch in batches])
        index.add(codes, ids=np.searchsorted(before.live_rows, rows))


def _do_nothing(index: HammingIndex) -> None:
    """Leave the index empty."""
