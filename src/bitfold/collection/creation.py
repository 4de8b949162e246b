"""Creating a collection, and opening one for writing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bitfold import _validation
from bitfold._types import ProgressCallback
from bitfold.collection.additions import NewRows
from bitfold.collection.columns import declare_columns, is_declaration
from bitfold.collection.commits import CollectionFolder
from bitfold.collection.database import Database
from bitfold.collection.fitting import is_fitted, use_hasher
from bitfold.collection.folder import prepare_folder
from bitfold.collection.items import ItemsTable
from bitfold.collection.snapshot import Snapshot
from bitfold.collection.state import MAX_FEATURES, VECTOR_FORMATS, CollectionState
from bitfold.collection.writer import CollectionWriter
from bitfold.errors import DataError
from bitfold.hashers import Hasher
from bitfold.io import file_system
from bitfold.search.disk.directory import lock_directory

_OWNER = "Collection"


def open_writer(path: Path) -> CollectionWriter:
    """Open a collection for writing."""
    database = Database(path)
    # Read before locking, which would create a file in a folder that is not a collection.
    database.load(lambda state: ItemsTable(database, state).definitions)
    folder = CollectionFolder(path, database, lock_directory(path))
    try:
        return CollectionWriter(folder, folder.load())
    except BaseException:
        folder.close()
        database.close()
        raise


def create_collection(
    path: Path,
    X: Any,
    ids: Any,
    metadata: Any,
    *,
    hasher: Hasher | None,
    keep_vectors: str | bool,
    metric: str,
    n_features: int | None,
    replaces: bool,
    progress: ProgressCallback | None,
) -> CollectionWriter:
    """Create a collection; see :meth:`Collection.create`."""
    _validation.check_choice(keep_vectors, "keep_vectors", _OWNER, (False, *VECTOR_FORMATS))
    settings = CollectionState(metric, keep_vectors)
    rows = None if X is None else NewRows.open(X, ids, metadata)
    if rows is None:
        settings = _declare(settings, ids, metadata, n_features)
    elif n_features not in (None, rows.n_features):
        requirement = f"the width of X, {rows.n_features}"
        _validation.raise_invalid("n_features", _OWNER, requirement, n_features)
    return _write(path, use_hasher(settings, hasher), rows, hasher, replaces, progress)


def _declare(
    settings: CollectionState, ids: Any, metadata: Any, n_features: int | None
) -> CollectionState:
    """Return the state of an empty collection."""
    if ids is not None or not is_declaration(metadata):
        raise DataError(
            "Without X, a collection has no ids, and metadata must be names and types of columns."
        )
    if n_features is not None:
        _validation.check_integer(n_features, "n_features", _OWNER, low=1, high=MAX_FEATURES)
    return replace(settings, columns=declare_columns(metadata), n_features=n_features)


def _write(
    path: Path,
    settings: CollectionState,
    rows: NewRows | None,
    hasher: Hasher | None,
    replaces: bool,
    progress: ProgressCallback | None,
) -> CollectionWriter:
    """Make the first commit of a new collection, or replace one; leave nothing after an error."""
    existed = path.exists()
    prepare_folder(path)
    database = Database(path)
    folder = CollectionFolder(path, database, lock_directory(path))
    try:
        settings = _follow(database, settings, replaces)
        fitted = hasher if hasher is not None and is_fitted(hasher) else None
        writer = CollectionWriter(folder, Snapshot(path, database, settings, None, fitted))
        writer.start(rows, progress)
        return writer
    except BaseException:
        folder.close()
        database.close()
        if not existed:
            file_system.remove_directory(path)
        raise


def _follow(database: Database, settings: CollectionState, replaces: bool) -> CollectionState:
    """Return the settings with the numbers of the collection that they replace, if there is one."""
    database.create()
    if not database.has_state():
        return settings
    if not replaces:
        folder = database.path.parent
        raise FileExistsError(f"{folder} already exists; open it, or pass replace=True.")
    old = database.load(lambda state: ItemsTable(database, state).definitions)
    return replace(settings, generation=old.generation, epoch=old.epoch)
