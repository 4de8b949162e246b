"""An addition: rows that a user adds, checked and written batch by batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from bitfold._types import ProgressCallback
from bitfold.codes import Codes
from bitfold.collection.appender import RowsAppender
from bitfold.collection.columns import (
    MetadataReader,
    MetadataSource,
    declare_columns,
    open_metadata,
)
from bitfold.collection.fitting import needs_codes
from bitfold.collection.id_map import NewIds
from bitfold.collection.kept_vectors import encode_vectors, prepare_vectors
from bitfold.collection.state import MAX_FEATURES, CollectionState
from bitfold.errors import DataError
from bitfold.hashers import Hasher
from bitfold.io import Stream, block_length, check_source, iter_blocks

_OWNER = "Collection"

_BLOCKS_PER_BATCH = 16
"""Number of blocks that are read, encoded on all cores and written together."""


class NewRows(NamedTuple):
    """What a user adds: vectors, ids and metadata.

    Parameters
    ----------
    X
        A checked matrix or stream.
    ids
        One id per row, or None.
    metadata
        The metadata of the rows, or None.
    """

    X: Any
    ids: Any
    metadata: MetadataSource | None

    @classmethod
    def open(cls, X: Any, ids: Any, metadata: Any) -> NewRows:
        """Check the vectors and open the metadata."""
        return cls(check_source(X, _OWNER), ids, open_metadata(metadata))

    @property
    def n_features(self) -> int:
        """Width of the vectors."""
        return int(self.X.n_features if isinstance(self.X, Stream) else self.X.shape[1])

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if a stream does not know it yet."""
        return self.X.n_rows if isinstance(self.X, Stream) else len(self.X)


class Addition:
    """Rows on their way into a collection.

    Parameters
    ----------
    rows
        What is added.
    state
        The state before.

    Attributes
    ----------
    state
        The state to which the rows are added: a new epoch for the first ones.
    """

    def __init__(self, rows: NewRows, state: CollectionState) -> None:
        _check_width(rows.n_features, state)
        self._rows = rows
        self._ids = NewIds(rows.ids, state.id_kind, state.next_id)
        if not state.n_rows:
            columns = state.columns or declare_columns(rows.metadata)
            state = replace(state.start_epoch(), columns=columns, id_kind=self._ids.kind)
        self.state = replace(state, n_features=rows.n_features)
        self._metadata = MetadataReader(rows.metadata, self.state.columns)

    @property
    def can_be_fitted(self) -> bool:
        """Whether a hasher can be fitted to these rows alone."""
        X = self._rows.X
        if self.state.n_rows or (isinstance(X, Stream) and X.single_pass):
            return False
        return needs_codes(len(X))

    def choose_format(self, *, is_coded: bool) -> CollectionState:
        """Return the state with the format of stored vectors; without codes, there must be one."""
        temporary = None if is_coded else "float32"
        kept = self.state.keep_vectors
        self.state = replace(self.state, stored=kept if isinstance(kept, str) else temporary)
        return self.state

    def write(
        self, appender: RowsAppender, hasher: Hasher | None, report: ProgressCallback
    ) -> Codes | None:
        """Write all rows; return their codes if there is a hasher."""
        codes: list[Codes] = []
        step = _BLOCKS_PER_BATCH * block_length(self._rows.n_features)
        for start, block in iter_blocks(self._rows.X, step):
            vectors = prepare_vectors(block, self.state.metric, start)
            stored = self.state.stored
            encoded = None if stored is None else encode_vectors(vectors, stored, start)
            ids, values = self._ids.take(len(block)), self._metadata.read(len(block))
            appender.append(encoded, ids, values)
            if hasher is not None:
                codes.append(hasher.encode(block))
            report("add", start + len(block), self._rows.n_rows or 0)
        return Codes.concatenate(codes) if codes else None

    def finish(self, appender: RowsAppender) -> CollectionState:
        """Return the state with all rows, after checking that nothing is left over."""
        self._ids.check_end()
        self._metadata.check_end(appender.state.n_rows - self.state.n_rows)
        return replace(appender.finish(), next_id=self._ids.next_id)


def _check_width(n_features: int, state: CollectionState) -> None:
    if state.n_features not in (None, n_features):
        raise DataError(
            f"X has {n_features} features, but the collection has vectors of {state.n_features}."
        )
    if n_features > MAX_FEATURES:
        raise DataError(f"X has {n_features} features; a collection allows {MAX_FEATURES}.")
