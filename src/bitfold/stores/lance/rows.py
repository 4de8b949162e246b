"""Batches as rows of a LanceDB table: what its columns are, and that every row fits them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import Ids, ProgressCallback
from bitfold.codes import count_bytes
from bitfold.search import ids as numbers
from bitfold.stores import arrow, columns
from bitfold.stores.contract import Batch, check_bits, check_codes, check_vectors

_OWNER = "LanceStore"


@dataclass(frozen=True)
class Layout:
    """Which columns of a table are what."""

    schema: Any
    id: str
    code: str
    vector: str
    n_bits: int
    n_features: int | None
    types: dict[str, type]

    @classmethod
    def of(cls, schema: Any, id_column: str, code_column: str, vector_column: str) -> Layout:
        """Read code length, width of the originals and the user's columns off a schema."""
        import pyarrow as pa

        kinds = defaultdict(pa.null, {field.name: field.type for field in schema})
        if kinds[id_column] != pa.int64():
            _validation.raise_invalid(f"column {id_column!r}", _OWNER, "of int64", kinds[id_column])
        code, vector = kinds[code_column], kinds[vector_column]
        if not (pa.types.is_fixed_size_list(code) and code.value_type == pa.uint8()):
            demand = "of fixed-size lists of uint8"
            _validation.raise_invalid(f"column {code_column!r}", _OWNER, demand, code)
        kept = (schema.metadata or {}).get(arrow.BITS, b"%d" % (8 * code.list_size))
        n_bits = check_bits(int(kept) if kept.isdigit() else 0, _OWNER)
        if count_bytes(n_bits) != code.list_size:
            _validation.raise_invalid("n_bits", _OWNER, f"of {code.list_size} bytes", n_bits)
        held = pa.types.is_fixed_size_list(vector) and vector.value_type == pa.float32()
        width = vector.list_size if held else None
        own = {id_column, code_column, vector_column}
        types = arrow.column_types(schema, own)
        return cls(schema, id_column, code_column, vector_column, n_bits, width, types)


class Rows(Iterator[Any]):
    """Batches as Arrow's, checked and numbered one by one; remembers what went wrong.

    Parameters
    ----------
    layout
        The table's columns.
    numbering
        Gives ids, from the table's next one on.
    present
        Tells which of some ids the table has already.
    batches
        What to load.
    progress
        Called with (stage, done, total) after each.
    """

    def __init__(
        self,
        layout: Layout,
        numbering: numbers.Numbering,
        present: Callable[[Ids], Ids],
        batches: Iterable[Batch],
        progress: ProgressCallback | None,
    ) -> None:
        self.problem: BaseException | None = None
        self._layout, self._numbering, self._present = layout, numbering, present
        self._batches, self._progress = iter(batches), progress
        self._first_new = numbering.next_id
        self._given: list[Ids] = []
        self._done = 0

    def __next__(self) -> Any:
        """Return the next batch; what goes wrong is also kept, for LanceDB loses its words."""
        try:
            batch = next(self._batches)
            rows = self._arrow(batch)
        except StopIteration:
            raise
        except BaseException as error:
            self.problem = error
            raise
        self._done += len(batch.codes)
        if self._progress:
            self._progress("loading", self._done, 0)
        return rows

    def _arrow(self, batch: Batch) -> Any:
        import pyarrow as pa

        layout = self._layout
        check_codes(batch.codes, layout.n_bits, _OWNER)
        ids = self._ids(batch)
        held = {layout.id: pa.array(ids), layout.code: arrow.lists(batch.codes.packed)}
        vectors = check_vectors(batch.vectors, len(ids), layout.n_features, _OWNER)
        if vectors is not None:
            held[layout.vector] = arrow.lists(vectors)
        values = columns.values(batch.columns, layout.types, len(ids), _OWNER)
        for name, listed in values.items():
            held[name] = pa.array(listed, layout.schema.field(name).type)
        arrays = [
            held[field.name] if field.name in held else pa.nulls(len(ids), field.type)
            for field in layout.schema
        ]
        return pa.record_batch(arrays, schema=layout.schema)

    def _ids(self, batch: Batch) -> Ids:
        """Number a batch; ids below the next one are looked for in the table and this load."""
        before = self._numbering.next_id
        ids = self._numbering.assign(batch.ids, len(batch.codes))
        if len(ids) and int(ids.min()) < before:
            taken = [ids[np.isin(ids, earlier)] for earlier in self._given]
            old = ids[ids < self._first_new]
            found = np.unique(np.concatenate([self._present(old), *taken]))
            if len(found):
                numbers.raise_taken(_OWNER, found)
        self._given.append(ids)
        return ids
