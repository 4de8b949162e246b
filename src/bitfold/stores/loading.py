"""Batches on their way into a store: checked, numbered and counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import Float32Array, ProgressCallback
from bitfold.codes import combine_digests
from bitfold.search import Batch, IdAssigner, check_codes
from bitfold.stores.columns import check_column_values
from bitfold.stores.schema import StoreSchema


class BatchLoader:
    """Iterates over batches that fit a store: with ids, float32 vectors and values per column.

    Parameters
    ----------
    batches
        What the user adds.
    schema
        What the rows of the store consist of.
    owner
        Class of the store, named in errors.
    next_id
        The first id to assign.
    model_digest
        Digest of the model whose codes are in the store.
    progress
        Called with (stage, done, total) after each batch.

    Attributes
    ----------
    model_digest
        Digest of the model of the codes so far.
    """

    def __init__(
        self,
        batches: Iterable[Batch],
        schema: StoreSchema,
        owner: str,
        *,
        next_id: int = 0,
        model_digest: str | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        self._batches, self._schema, self._owner = batches, schema, owner
        self._assigner = IdAssigner(owner, next_id)
        self._progress = progress
        self.model_digest = model_digest

    @property
    def next_id(self) -> int:
        """The id after the largest so far."""
        return self._assigner.next_id

    def __iter__(self) -> Iterator[Batch]:
        n_loaded = 0
        for batch in self._batches:
            yield self._check(batch)
            n_loaded += len(batch.codes)
            if self._progress:
                self._progress("loading", n_loaded, 0)

    def _check(self, batch: Batch) -> Batch:
        schema, owner, n_rows = self._schema, self._owner, len(batch.codes)
        check_codes(batch.codes, schema.n_bits, owner)
        self.model_digest = combine_digests([self.model_digest, batch.codes.model_digest])
        return Batch(
            self._assigner.assign(batch.ids, n_rows),
            batch.codes,
            _check_vectors(batch.vectors, n_rows, schema.n_features, owner),
            check_column_values(batch.columns, schema.writable_types, n_rows, owner),
        )


def _check_vectors(
    vectors: Any, n_rows: int, n_features: int | None, owner: str
) -> Float32Array | None:
    """Return finite float32 vectors, one row per code; None if the store keeps none."""
    if n_features is None:
        if vectors is not None:
            requirement = "None, because the store was created without n_features"
            _validation.raise_invalid("vectors", owner, requirement, type(vectors).__name__)
        return None
    if vectors is None:
        requirement = f"an array of {n_rows} rows and {n_features} features"
        _validation.raise_invalid("vectors", owner, requirement, "None")
    matrix = _validation.check_matrix(vectors, owner, name="vectors", min_rows=0)
    if matrix.shape != (n_rows, n_features):
        requirement = f"of shape ({n_rows}, {n_features})"
        _validation.raise_invalid("vectors", owner, requirement, f"shape {matrix.shape}")
    _validation.check_finite(np.asarray(matrix), owner, name="vectors")
    return np.ascontiguousarray(matrix, np.float32)
