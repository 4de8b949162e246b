"""The state of a collection: a few numbers that say which files and rows belong to it.

The state is one row of the SQLite database. Replacing it is what commits a change: rows of other
files and tables beyond the numbers in the state do not exist for a reader, and the next writer
removes them. It has a checksum of its own, and every value is checked, because files are not
trusted.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from bitfold.errors import FormatError
from bitfold.io.file_checks import is_count, parse_json_object
from bitfold.search.disk import manifest as manifests
from bitfold.search.disk.manifest import Manifest
from bitfold.stores.columns import check_column_types

METRICS = ("euclidean", "cosine")

VECTOR_FORMATS = ("float32", "float16", "int8")
"""Formats in which vectors can be kept."""

ID_KINDS = ("int", "str")

_TYPE_NAMES: dict[str, type] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "datetime": datetime,
}

MAX_FEATURES = 1 << 24
"""Widest vectors; a row of them has 64 MB."""


@dataclass(frozen=True)
class CollectionState:
    """What a collection consists of after a commit; never modified, only replaced.

    Parameters
    ----------
    generation
        Number of commits.
    epoch
        Number in the names of the table and of the files that are appended to. A new epoch has new
        ones, in which the rows are numbered again.
    metric
        "euclidean" or "cosine".
    keep_vectors
        Format in which vectors are kept, or False.
    recipe
        Settings of the hasher; None chooses one when it is fitted.
    columns
        Types of the metadata columns by name.
    n_features
        Width of the vectors; None before the first row.
    n_rows
        Number of rows, including removed ones.
    n_items
        Number of rows that are not removed.
    id_kind
        "int" or "str"; None before the first row.
    n_implicit
        Number of leading rows whose id is the number of the row, and is not stored.
    next_id
        The next automatic id.
    stored
        Format of the file of vectors; None without one.
    model
        File name of the fitted hasher; None before there is one.
    index
        Manifest of the codes; None before the hasher is fitted.
    removed
        Removed rows, ascending, as long as there are no codes.
    checksums
        CRC-32 of the files that are appended to, by kind.
    items_checksum
        Sum of the CRC-32 of all rows of the table.
    """

    metric: str
    keep_vectors: str | bool
    recipe: dict[str, Any] | None = None
    columns: Mapping[str, type] = field(default_factory=dict)
    n_features: int | None = None
    generation: int = 0
    epoch: int = 1
    n_rows: int = 0
    n_items: int = 0
    id_kind: str | None = None
    n_implicit: int = 0
    next_id: int = 0
    stored: str | None = None
    model: str | None = None
    index: Manifest | None = None
    removed: tuple[int, ...] = ()
    checksums: Mapping[str, int] = field(default_factory=dict)
    items_checksum: int = 0

    @property
    def is_fitted(self) -> bool:
        """Whether there is a fitted hasher."""
        return self.model is not None

    def start_epoch(self) -> CollectionState:
        """Return the state without rows, in new files; settings and hasher stay the same."""
        return replace(
            self,
            epoch=self.epoch + 1,
            n_rows=0,
            n_items=0,
            n_implicit=0,
            removed=(),
            checksums={},
            items_checksum=0,
        )

    def drop_vectors(self) -> CollectionState:
        """Return the state without vectors."""
        checksums = {kind: value for kind, value in self.checksums.items() if kind == "ids"}
        return replace(self, stored=None, checksums=checksums)

    def encode(self) -> str:
        """Return the state as JSON with a checksum."""
        names = {kind: name for name, kind in _TYPE_NAMES.items()}
        content = asdict(replace(self, index=None, columns={}, checksums={})) | {
            "index": None if self.index is None else manifests.encode(self.index),
            "columns": [[name, names[kind]] for name, kind in self.columns.items()],
            "checksums": dict(self.checksums),
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return f"{zlib.crc32(text.encode()):08x}{text}"


def decode_state(text: Any, path: Path) -> CollectionState:
    """Return the state in a text that is not trusted; ``path`` is for errors."""
    if not isinstance(text, str) or text[:8] != f"{zlib.crc32(_encode(text[8:])):08x}":
        raise FormatError(f"{path} is damaged: its state does not match its checksum.")
    content = parse_json_object(text[8:])
    try:
        if content is None:
            raise ValueError("not a JSON object")
        state = _decode(content)
        _check(state)
    # A value can have any wrong key, type or number.
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FormatError(f"{path} is damaged: the values of its state are not valid.") from None
    return state


def _encode(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")


def _decode(content: dict[str, Any]) -> CollectionState:
    index, columns = content.pop("index"), content.pop("columns")
    types = {name: _TYPE_NAMES[kind] for name, kind in columns}
    return CollectionState(
        **(content | {"removed": tuple(content["removed"])}),
        index=None if index is None else manifests.decode(index),
        columns=check_column_types(types, "Collection"),
    )


def _check(state: CollectionState) -> None:
    """Raise ValueError unless the values are valid and do not contradict each other."""
    counts = (
        *(state.generation, state.epoch, state.n_rows, state.n_items, state.n_implicit),
        *state.checksums.values(),
    )
    rules = (
        all(map(is_count, counts)),
        state.metric in METRICS,
        state.keep_vectors is False or state.keep_vectors in VECTOR_FORMATS,
        state.stored is None or state.stored in VECTOR_FORMATS,
        state.id_kind is None or state.id_kind in ID_KINDS,
        state.recipe is None or isinstance(state.recipe, dict),
        state.n_items <= state.n_rows and state.n_implicit <= state.n_rows,
        state.id_kind != "str" or not state.n_implicit,
        not state.n_rows or (state.id_kind is not None and state.n_features is not None),
        state.n_features is None or is_count(state.n_features),
        state.n_features is None or 1 <= state.n_features <= MAX_FEATURES,
        type(state.next_id) is int and abs(state.next_id) <= 1 << 63,
        type(state.items_checksum) is int and 0 <= state.items_checksum < 1 << 64,
        state.checksums.keys() <= {"vectors", "scales", "ids"},
        (state.model is None) == (state.index is None),
        _are_removed_rows(state),
    )
    if not all(rules):
        raise ValueError("contradiction")


def _are_removed_rows(state: CollectionState) -> bool:
    removed = state.removed
    if state.index is not None:
        return not removed
    are_rows = all(is_count(row) and row < state.n_rows for row in removed)
    ascending = all(a < b for a, b in pairwise(removed))
    return are_rows and ascending and len(removed) == state.n_rows - state.n_items
