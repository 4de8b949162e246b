"""Batches as Arrow record batches, which LanceDB reads while it writes a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bitfold._types import Ids
from bitfold.search import Batch, raise_duplicate_ids
from bitfold.stores.lance.schema import to_lists
from bitfold.stores.schema import ColumnNames


class RecordBatches(Iterator[Any]):
    """Converts checked batches to record batches; raises if an id is already present.

    Parameters
    ----------
    batches
        Batches from a :class:`BatchLoader`.
    arrow_schema
        Schema of the table.
    names
        Columns of ids, codes and vectors.
    next_id
        An id that is larger than all ids in the table.
    find_ids
        Returns which of some ids the table has; None for a new table.

    Attributes
    ----------
    error
        What was raised during iteration: LanceDB replaces it by an error of its own.
    """

    def __init__(
        self,
        batches: Iterable[Batch],
        arrow_schema: Any,
        names: ColumnNames,
        next_id: int = 0,
        find_ids: Callable[[Ids], Ids] | None = None,
    ) -> None:
        self.error: BaseException | None = None
        self._batches, self._schema, self._names = iter(batches), arrow_schema, names
        self._find_ids, self._first_new, self._next_id = find_ids, next_id, next_id
        self._seen: list[Ids] = []

    def __next__(self) -> Any:
        try:
            batch = next(self._batches)
            self._check_new(batch.ids)
            return self._convert(batch)
        except StopIteration:
            raise
        except BaseException as error:
            self.error = error
            raise

    @contextmanager
    def reader(self) -> Iterator[Any]:
        """Open a reader for LanceDB; errors of the iteration are raised unchanged."""
        import pyarrow as pa

        try:
            yield pa.RecordBatchReader.from_batches(self._schema, self)
        except Exception:
            if self.error is not None:
                raise self.error from None
            raise

    def _check_new(self, ids: Ids) -> None:
        """Raise if the table or an earlier batch has one of these ids."""
        if len(ids) and int(ids.min()) < self._next_id:
            repeated = [ids[np.isin(ids, earlier)] for earlier in self._seen]
            if self._find_ids is not None:
                repeated.append(self._find_ids(ids[ids < self._first_new]))
            taken = np.unique(np.concatenate([ids[:0], *repeated]))
            if len(taken):
                raise_duplicate_ids(taken, "LanceStore")
        self._seen.append(ids)
        self._next_id = max(self._next_id, int(ids.max(initial=-1)) + 1)

    def _convert(self, batch: Batch) -> Any:
        import pyarrow as pa

        names, schema = self._names, self._schema
        arrays = {names.id: pa.array(batch.ids), names.code: to_lists(batch.codes.packed)}
        if batch.vectors is not None:
            arrays[names.vector] = to_lists(batch.vectors)
        for name, values in (batch.columns or {}).items():
            arrays[name] = pa.array(values, schema.field(name).type)
        return pa.record_batch(
            [
                arrays[field.name] if field.name in arrays else pa.nulls(len(batch.ids), field.type)
                for field in schema
            ],
            schema=schema,
        )
