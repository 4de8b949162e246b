"""The folder of a collection: the names of its files, its lock, and leftover files."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from bitfold._types import PathLike
from bitfold.collection.state import CollectionState
from bitfold.io import file_system
from bitfold.io.atomic import create_folder
from bitfold.search.disk import directory

DATABASE = "collection.sqlite"
"""Name of the SQLite database, by which a collection is recognized."""

_OWN_FILE = re.compile(r"(vectors|scales|ids)-[0-9]{1,15}\.bin|hasher-[0-9]{1,15}\.bitfold")
_INDEX_FILE = re.compile(
    r"(segment|deleted)-[0-9]{1,15}-[0-9]{1,15}\.bin|\.bitfold-[0-9a-f]{16}\.tmp"
)
_VALUE_BYTES = {"float32": 4, "float16": 2, "int8": 1}
_JOURNALS = (f"{DATABASE}-journal", f"{DATABASE}-wal", f"{DATABASE}-shm")


def is_collection(path: PathLike) -> bool:
    """Return whether a folder is a collection, by the name of its database.

    Parameters
    ----------
    path
        Any path.

    Returns
    -------
    Whether the database exists; it may be damaged.

    Examples
    --------
    >>> is_collection("nowhere")
    False
    """
    return (Path(path) / DATABASE).is_file()


def name_file(kind: str, state: CollectionState) -> str:
    """Return the name of the file of vectors, scales or ids."""
    return f"{kind}-{state.epoch}.bin"


def name_model(generation: int) -> str:
    """Return the name of the file of a hasher that is fitted in a generation."""
    return f"hasher-{generation}.bitfold"


def is_model_name(name: object) -> bool:
    """Return whether this is the name of a file of a hasher; others could leave the folder."""
    return isinstance(name, str) and bool(re.fullmatch(r"hasher-[0-9]{1,15}\.bitfold", name))


def measure_files(state: CollectionState) -> dict[str, int]:
    """Return how many bytes of the files of vectors, scales and ids belong to a state."""
    sizes: dict[str, int] = {}
    if not state.n_rows:
        return sizes
    if state.stored is not None and state.n_features is not None:
        sizes["vectors"] = state.n_rows * state.n_features * _VALUE_BYTES[state.stored]
    if state.stored == "int8":
        sizes["scales"] = 4 * state.n_rows
    if state.id_kind == "int" and state.n_implicit < state.n_rows:
        sizes["ids"] = 8 * (state.n_rows - state.n_implicit)
    return sizes


def list_files(state: CollectionState) -> set[str]:
    """Return the names of the files that belong to a state, except those of the codes."""
    models = filter(None, [state.model])
    return {*models, *(name_file(kind, state) for kind in measure_files(state))}


def prepare_folder(path: Path) -> None:
    """Create the folder durably; one that exists must be empty or a collection."""
    if path.is_dir():
        known = {DATABASE, "lock", *_JOURNALS}
        for file in path.iterdir():
            is_ours = _OWN_FILE.fullmatch(file.name) or _INDEX_FILE.fullmatch(file.name)
            if file.name not in known and not is_ours:
                raise FileExistsError(
                    f"{path} already contains {file.name!r}; "
                    "a collection needs a folder of its own."
                )
    create_folder(path, "a collection")


def remove_leftovers(path: Path, state: CollectionState) -> None:
    """Remove files that do not belong to the state; those of the codes are the index's own."""
    keep = list_files(state)
    for file in path.iterdir():
        if _OWN_FILE.fullmatch(file.name) and file.name not in keep:
            # A file that cannot be removed does no harm, and the next writer tries again.
            with suppress(OSError):
                file_system.remove_file(file)
    for kind, n_bytes in measure_files(state).items():
        with suppress(OSError):
            _truncate(path / name_file(kind, state), n_bytes)
    if state.index is None:
        with suppress(OSError):
            directory.remove_leftovers(path, set())


def _truncate(path: Path, n_bytes: int) -> None:
    """Cut off what an interrupted writer left at the end of a file."""
    if path.stat().st_size > n_bytes:
        with file_system.open_file(path) as file:
            file.truncate(n_bytes)
