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


@contextmanager
def open_reader(batches: Iterable[Batch], arrow_schema: Any, names: ColumnNames) -> Iterator[Any]:
    """Open a reader of record batches for LanceDB.

    An error of the batches, which LanceDB replaces by one of its own, is raised unchanged.
    """
    import pyarrow as pa

    failures: list[BaseException] = []

    def convert() -> Iterator[Any]:
        try:
            for batch in batches:
                yield _to_record_batch(batch, arrow_schema, names)
        except GeneratorExit:  # LanceDB stopped reading
            raise
        except BaseException as error:
            failures.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(arrow_schema, convert())
    except Exception:
        if failures:
            raise failures[0] from None
        raise


def check_new_ids(
    batches: Iterable[Batch], next_id: int = 0, find_ids: Callable[[Ids], Ids] | None = None
) -> Iterator[Batch]:
    """Yield batches; raise if the table or an earlier batch has one of their ids.

    Parameters
    ----------
    batches
        Batches from a :class:`BatchLoader`.
    next_id
        An id that is larger than all ids in the table.
    find_ids
        Returns which of some ids the table has; None for a new table.
    """
    seen: list[Ids] = []
    first_new = next_id
    for batch in batches:
        ids = batch.ids
        if len(ids) and int(ids.min()) < next_id:
            repeated = [ids[np.isin(ids, earlier)] for earlier in seen]
            if find_ids is not None:
                repeated.append(find_ids(ids[ids < first_new]))
            taken = np.unique(np.concatenate([ids[:0], *repeated]))
            if len(taken):
                raise_duplicate_ids(taken, "LanceStore")
        seen.append(ids)
        next_id = max(next_id, int(ids.max(initial=-1)) + 1)
        yield batch


def _to_record_batch(batch: Batch, schema: Any, names: ColumnNames) -> Any:
    import pyarrow as pa

    arrays = {names.id: pa.array(batch.ids), names.code: to_lists(batch.codes.packed)}
    if batch.vectors is not None:
        arrays[names.vector] = to_lists(batch.vectors)
    for name, values in (batch.columns or {}).items():
        arrays[name] = pa.array(values, schema.field(name).type)
    fields = [
        arrays[field.name] if field.name in arrays else pa.nulls(len(batch.ids), field.type)
        for field in schema
    ]
    return pa.record_batch(fields, schema=schema)
