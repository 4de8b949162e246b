"""Vectors in a column of lists of an Arrow or Parquet object.

pyarrow is not imported here: the methods of the objects that users pass are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.errors import DataError

_BATCH_BYTES = 8 << 20
"""Size of one batch, assuming 32-bit values."""


def is_table(X: Any) -> bool:
    """Return whether this is a Parquet file, data set or table of pyarrow."""
    has_batches = hasattr(X, "iter_batches") or hasattr(X, "to_batches")
    return type(X).__module__.startswith("pyarrow") and has_batches


def find_list_columns(X: Any) -> list[str]:
    """Return the names of the columns whose values are lists."""
    return [
        column.name
        for column in _schema(X)
        if hasattr(column.type, "value_type")
        and str(column.type).startswith(("list<", "large_list<", "fixed_size_list<"))
    ]


def count_rows(X: Any) -> int:
    """Return the number of rows, from the metadata."""
    if hasattr(X, "metadata") and hasattr(X.metadata, "num_rows"):
        return int(X.metadata.num_rows)
    return int(X.num_rows if hasattr(X, "num_rows") else X.count_rows())


def iter_blocks(X: Any, column: str, name: str = "X") -> Iterator[AnyArray]:
    """Yield the lists of a column as matrices, batch by batch."""
    for batch in _iter_batches(X, column):
        if batch.num_rows:
            yield to_matrix(batch.column(0), name)


def to_matrix(lists: Any, name: str) -> AnyArray:
    """Return an Arrow array of lists of one length as a matrix; ``name`` is for errors."""
    values = lists.flatten()
    if lists.null_count or values.null_count or not len(lists):
        raise DataError(f"{name} must contain a list in every row, got missing values.")
    lengths = np.unique(lists.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) != 1:
        raise DataError(f"{name} must contain lists of one length, got lengths {lengths[:9]}.")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(lists), -1)


def _schema(X: Any) -> Any:
    return X.schema_arrow if hasattr(X, "schema_arrow") else X.schema


def _iter_batches(X: Any, column: str) -> Iterator[Any]:
    width = getattr(_schema(X).field(column).type, "list_size", 0) or 1024
    length = int(np.clip(_BATCH_BYTES // (4 * width), 64, 1 << 16))
    if hasattr(X, "iter_batches"):
        return iter(X.iter_batches(length, columns=[column]))
    if hasattr(X, "count_rows"):
        # By default, dozens of batches are read ahead into memory.
        read_ahead = {"batch_readahead": 2, "fragment_readahead": 1}
        return iter(X.to_batches(columns=[column], batch_size=length, **read_ahead))
    return iter(X.select([column]).to_batches(length))
