"""Opening a collection for reading: one consistent state, while another process may write."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bitfold.collection.commits import FixedManifest
from bitfold.collection.database import Database
from bitfold.collection.folder import list_files, measure_files, name_file
from bitfold.collection.items import ItemsTable
from bitfold.collection.row_file import compute_checksum
from bitfold.collection.snapshot import Snapshot
from bitfold.collection.state import CollectionState
from bitfold.errors import FormatError
from bitfold.search import HammingIndex
from bitfold.search.disk.index_folder import IndexFolder


class CollectionSummary(NamedTuple):
    """What a verified collection contains.

    Parameters
    ----------
    n_items
        Number of items.
    n_files
        Number of files, including the database.
    n_bytes
        Size of the files.

    Examples
    --------
    >>> CollectionSummary(n_items=1000, n_files=4, n_bytes=250_000).n_items
    1000
    """

    n_items: int
    n_files: int
    n_bytes: int


def read_snapshot(path: Path, database: Database) -> Snapshot:
    """Return the content after the last commit; try again if a writer replaces it meanwhile."""
    previous = -1
    while True:
        state = database.load(lambda state: ItemsTable(database, state).definitions)
        try:
            return open_snapshot(path, database, state)
        except FormatError:
            if state.generation == previous:
                raise
            previous = state.generation


def open_snapshot(path: Path, database: Database, state: CollectionState) -> Snapshot:
    """Open the files of a state; raise FormatError if one is missing or damaged."""
    index = None
    if state.index is not None:
        index = HammingIndex.from_folder(IndexFolder.attach(path, FixedManifest(state)))
        if len(index) != state.n_items:
            raise FormatError(f"{path} is damaged: it has {len(index)} codes, not {state.n_items}.")
    return Snapshot(path, database, state, index)


def verify_snapshot(snapshot: Snapshot) -> CollectionSummary:
    """Check every byte; raise FormatError if one is damaged."""
    path, state = snapshot.path, snapshot.state
    snapshot.items.database.verify()
    if state.n_rows:
        snapshot.items.verify()
    _verify_rows(path, state)
    files = list_files(state)
    if state.index is not None:
        folder = IndexFolder.attach(path, FixedManifest(state))
        folder.verify()
        files |= state.index.files
        hasher = snapshot.hasher
        if hasher is not None and state.index.model_digest not in (None, hasher.model_digest):
            raise FormatError(f"{path} is damaged: its hasher did not make its codes.")
    database = snapshot.items.database.path.name
    n_bytes = sum((path / name).stat().st_size for name in {*files, database})
    return CollectionSummary(state.n_items, len(files) + 1, n_bytes)


def _verify_rows(path: Path, state: CollectionState) -> None:
    """Compare the files that are appended to with their checksums."""
    for kind, n_bytes in measure_files(state).items():
        file = path / name_file(kind, state)
        if compute_checksum(file, n_bytes) != state.checksums.get(kind, 0):
            raise FormatError(f"{file} is damaged: it does not match its checksum.")
