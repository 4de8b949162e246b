"""Rows as Arrow has them: fixed-size lists for codes and originals, a column for each value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.codes import count_bytes
from bitfold.stores.columns import CODE, ID, VECTOR

BITS = b"bitfold.n_bits"
"""Where a schema keeps the length of its codes, which lists of bytes know to 8 bits only."""


def schema_of(n_bits: int, n_features: int | None, types: Mapping[str, type]) -> Any:
    """Return the schema of a table of codes, with originals where a width is given."""
    import pyarrow as pa

    kinds = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        datetime: pa.timestamp("us", "UTC"),
    }
    fields = [
        pa.field(ID, pa.int64(), nullable=False),
        pa.field(CODE, pa.list_(pa.uint8(), count_bytes(n_bits)), nullable=False),
    ]
    if n_features is not None:
        fields.append(pa.field(VECTOR, pa.list_(pa.float32(), n_features), nullable=False))
    fields += [pa.field(name, kinds[kind]) for name, kind in types.items()]
    return pa.schema(fields, metadata={BITS: b"%d" % n_bits})


def column_types(schema: Any, own: set[str]) -> dict[str, type]:
    """Return the columns beside our own that we know how to fill, and what they hold."""
    import pyarrow as pa

    tests = {
        bool: pa.types.is_boolean,
        int: pa.types.is_integer,
        float: pa.types.is_floating,
        str: pa.types.is_string,
        datetime: pa.types.is_timestamp,
    }
    return {
        field.name: kind
        for field in schema
        for kind, fits in tests.items()
        if field.name not in own and fits(field.type)
    }


def lists(rows: AnyArray) -> Any:
    """Return a matrix as fixed-size lists, without a copy."""
    import pyarrow as pa

    flat_values = pa.array(np.ascontiguousarray(rows).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat_values, rows.shape[1])


def matrix(listed: Any) -> AnyArray:
    """Return fixed-size lists as a matrix."""
    width = listed.type.list_size
    pieces = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in listed.chunks]
    empty = np.empty(0, listed.type.value_type.to_pandas_dtype())
    return np.concatenate([empty, *pieces]).reshape(-1, width)
