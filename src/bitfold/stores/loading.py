"""Batches on their way into a store: checked, numbered and counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._progress import ignore_progress
from bitfold._types import Float32Array, ProgressCallback
from bitfold.codes import combine_digests
from bitfold.search import Batch, IdAssigner, check_codes
from bitfold.stores.columns import check_column_values
from bitfold.stores.schema import StoreSchema


class BatchLoader:
    """Reads batches that fit a store: with ids, float32 vectors and values for every column.

    Parameters
    ----------
    batches
        Items that the user adds.
    schema
        What the rows of the store consist of.
    owner
        Class of the store, named in errors.
    progress
        Called with (stage, done, total) after each batch.

    Attributes
    ----------
    next_id
        The id after the largest so far.
    model_digest
        Digest of the model of the codes so far.
    """

    def __init__(
        self,
        batches: Iterable[Batch],
        schema: StoreSchema,
        owner: str,
        progress: ProgressCallback = ignore_progress,
    ) -> None:
        self.schema = schema
        self.next_id = 0
        self.model_digest: str | None = None
        self._batches, self._owner, self._progress = batches, owner, progress

    def read(self, next_id: int = 0, model_digest: str | None = None) -> Iterator[Batch]:
        """Yield the batches for a store with this next id and digest."""
        assigner, n_loaded = IdAssigner(self._owner, next_id), 0
        self.next_id, self.model_digest = next_id, model_digest
        for batch in self._batches:
            yield self._check(batch, assigner)
            n_loaded += len(batch.codes)
            self._progress("loading", n_loaded, 0)

    def _check(self, batch: Batch, assigner: IdAssigner) -> Batch:
        schema, owner = self.schema, self._owner
        check_codes(batch.codes, schema.n_bits, owner, "store.add(hasher.encode(X))")
        n_rows = len(batch.codes)
        ids = assigner.assign(batch.ids, n_rows)
        self.next_id = assigner.next_id
        self.model_digest = combine_digests([self.model_digest, batch.codes.model_digest])
        return Batch(
            ids,
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
