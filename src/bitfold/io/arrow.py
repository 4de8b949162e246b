"""Vectors in a column of lists, as Arrow and Parquet hold them; pyarrow itself is never imported.

Whoever has such an object has pyarrow, so that its methods are all that is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.errors import DataError

_BATCH_BYTES = 8 << 20
"""What one batch of 32-bit numbers may weigh."""


def is_tabular(X: Any) -> bool:
    """Whether this is a Parquet file, a data set or a table of pyarrow's."""
    kind = type(X)
    methods = ("iter_batches", "to_batches")
    return kind.__module__.startswith("pyarrow") and any(hasattr(X, name) for name in methods)


def list_columns(X: Any) -> list[str]:
    """Name the columns whose values are lists."""
    schema = X.schema_arrow if hasattr(X, "schema_arrow") else X.schema
    return [
        column.name
        for column in schema
        if hasattr(column.type, "value_type")
        and str(column.type).startswith(("list<", "large_list<", "fixed_size_list<"))
    ]


def n_rows(X: Any) -> int:
    """How many rows there are, without a look at them."""
    if hasattr(X, "metadata") and hasattr(X.metadata, "num_rows"):
        return int(X.metadata.num_rows)
    return int(X.num_rows if hasattr(X, "num_rows") else X.count_rows())


def blocks(X: Any, column: str, what: str = "X") -> Iterator[AnyArray]:
    """Yield the lists of a column as rows, some at a time."""
    for batch in _batches(X, column):
        if batch.num_rows:
            yield as_matrix(batch.column(0), what)


def as_matrix(lists: Any, what: str) -> AnyArray:
    """Lists of one length as rows; ``what`` names them in errors."""
    values = lists.flatten()
    if lists.null_count or values.null_count or not len(lists):
        raise DataError(f"{what} must hold a list in every row, got missing values.")
    lengths = np.unique(lists.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) != 1:
        raise DataError(f"{what} must hold lists of one length, got {len(lengths)} lengths.")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(lists), -1)


def _batches(X: Any, column: str) -> Iterator[Any]:
    if hasattr(X, "iter_batches"):
        return iter(X.iter_batches(_batch_length(X, column), columns=[column]))
    if hasattr(X, "count_rows"):
        length = _batch_length(X, column)
        # Few batches ahead: by default dozens wait in memory.
        ahead = {"batch_readahead": 2, "fragment_readahead": 1}
        return iter(X.to_batches(columns=[column], batch_size=length, **ahead))
    return iter(X.select([column]).to_batches(_batch_length(X, column)))


def _batch_length(X: Any, column: str) -> int:
    schema = X.schema_arrow if hasattr(X, "schema_arrow") else X.schema
    width = getattr(schema.field(column).type, "list_size", 0) or 1024
    return int(np.clip(_BATCH_BYTES // (4 * width), 64, 1 << 16))
