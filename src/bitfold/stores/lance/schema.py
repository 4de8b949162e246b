"""Arrow schemas of LanceDB tables, and matrices as fixed-size lists."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray
from bitfold.codes import count_bytes
from bitfold.stores.schema import ColumnNames, StoreSchema, check_n_bits

_OWNER = "LanceStore"

_N_BITS_KEY = b"bitfold.n_bits"
"""Metadata of the schema; lists of bytes give the code length only up to a multiple of 8."""


def to_arrow_schema(schema: StoreSchema) -> Any:
    """Return the Arrow schema of a new table."""
    import pyarrow as pa

    arrow_types = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        datetime: pa.timestamp("us", "UTC"),
    }
    names, n_bits = schema.names, schema.n_bits
    fields = [
        pa.field(names.id, pa.int64(), nullable=False),
        pa.field(names.code, pa.list_(pa.uint8(), count_bytes(n_bits)), nullable=False),
    ]
    if schema.n_features is not None:
        vector_type = pa.list_(pa.float32(), schema.n_features)
        fields.append(pa.field(names.vector, vector_type, nullable=False))
    fields += [pa.field(name, arrow_types[kind]) for name, kind in schema.writable_types.items()]
    return pa.schema(fields, metadata={_N_BITS_KEY: b"%d" % n_bits})


def read_schema(arrow_schema: Any, names: ColumnNames) -> StoreSchema:
    """Return the schema of a table; raise unless it has ids and codes."""
    import pyarrow as pa

    types = defaultdict(pa.null, {field.name: field.type for field in arrow_schema})
    if types[names.id] != pa.int64():
        _validation.raise_invalid(f"column {names.id!r}", _OWNER, "of int64", types[names.id])
    vector = types[names.vector]
    has_vectors = pa.types.is_fixed_size_list(vector) and vector.value_type == pa.float32()
    return StoreSchema(
        _read_n_bits(arrow_schema, names.code, types[names.code]),
        vector.list_size if has_vectors else None,
        _read_column_types(arrow_schema, names),
        names,
    )


def _read_n_bits(arrow_schema: Any, name: str, code: Any) -> int:
    import pyarrow as pa

    if not (pa.types.is_fixed_size_list(code) and code.value_type == pa.uint8()):
        requirement = "of fixed-size lists of uint8"
        _validation.raise_invalid(f"column {name!r}", _OWNER, requirement, code)
    stored = (arrow_schema.metadata or {}).get(_N_BITS_KEY, b"%d" % (8 * code.list_size))
    n_bits = check_n_bits(int(stored) if stored.isdigit() else 0, _OWNER)
    if count_bytes(n_bits) != code.list_size:
        _validation.raise_invalid("n_bits", _OWNER, f"of {code.list_size} bytes", n_bits)
    return n_bits


def _read_column_types(arrow_schema: Any, names: ColumnNames) -> dict[str, type]:
    """Return the further columns of a table, except those of types that a store cannot write."""
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
        for field in arrow_schema
        for kind, has_type in tests.items()
        if field.name not in names and has_type(field.type)
    }


def to_lists(matrix: AnyArray) -> Any:
    """Return a matrix as fixed-size lists, without a copy."""
    import pyarrow as pa

    values = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(values, matrix.shape[1])


def to_matrix(lists: Any) -> AnyArray:
    """Return fixed-size lists as a matrix."""
    chunks = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in lists.chunks]
    empty = np.empty(0, lists.type.value_type.to_pandas_dtype())
    return np.concatenate([empty, *chunks]).reshape(-1, lists.type.list_size)
