"""Kept vectors: the formats in which they are stored, and distances to them.

Vectors that are compared by cosine are scaled to unit length first, so that no format loses
digits to a common factor. ``int8`` has one scale per row: the largest absolute value of the row
becomes 127, so that rows of different lengths are equally precise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels import rescoring as kernels
from bitfold._types import AnyArray, Float32Array, Int64Array
from bitfold.errors import DataError
from bitfold.io import scale_to_unit_length

_OWNER = "Collection"

_DTYPES: dict[str, Any] = {"float32": np.float32, "float16": np.float16, "int8": np.int8}

_MAX_FLOAT16 = float(np.finfo(np.float16).max)

_KERNELS: dict[str, tuple[Any, Callable[..., None]]] = {
    "float32": (np.float32, kernels.measure_float32),
    "float16": (np.uint16, kernels.measure_float16),
    "int8": (np.int8, kernels.measure_int8),
}

_NO_SCALES = np.empty(0, np.float32)


class EncodedRows(NamedTuple):
    """Rows as they are stored; ``scales`` is empty unless the format has them."""

    values: AnyArray
    scales: Float32Array


class KeptVectors(NamedTuple):
    """Stored vectors.

    Parameters
    ----------
    format
        "float32", "float16" or "int8".
    values
        The stored values, one row per vector; usually a memory map.
    scales
        One scale per row for "int8", otherwise empty.
    """

    format: str
    values: AnyArray
    scales: Float32Array

    def __len__(self) -> int:
        return len(self.values)

    def decode(self, rows: Int64Array | slice) -> Float32Array:
        """Return some vectors as float32."""
        vectors = self.values[rows].astype(np.float32)
        if self.format == "int8":
            vectors *= self.scales[rows][:, None]
        return vectors

    def measure(
        self, rows: Int64Array, queries: Float32Array, metric: str, out: Float32Array
    ) -> None:
        """Write the distances between each query and the rows of its candidates."""
        dtype, kernel = _KERNELS[self.format]
        values = self.values.view(dtype)
        kernel(values, self.scales, rows, queries, metric == "cosine", out)


def dtype_of(format_name: str) -> Any:
    """Return the type of the stored values of a format."""
    return np.dtype(_DTYPES[format_name])


def prepare_vectors(block: AnyArray, metric: str, first_row: int = 0) -> Float32Array:
    """Return vectors as they are compared: finite float32, of unit length for cosine."""
    _validation.check_finite(block, _OWNER, first_row=first_row)
    if metric == "cosine":
        return scale_to_unit_length(block, _OWNER).astype(np.float32)
    vectors = np.ascontiguousarray(block, np.float32)
    _validation.check_distances_fit(vectors, _OWNER, first_row=first_row)
    return vectors


def encode_vectors(vectors: Float32Array, format_name: str, first_row: int = 0) -> EncodedRows:
    """Return vectors in the format in which they are stored."""
    if format_name == "float16":
        largest = np.abs(vectors).max(axis=1)
        if len(largest) and largest.max() > _MAX_FLOAT16:
            row = int(np.argmax(largest > _MAX_FLOAT16))
            raise DataError(
                f"X of Collection has the value {largest[row]:g} in row {first_row + row}, too "
                f'large for float16; pass keep_vectors="float32" or "int8".'
            )
        return EncodedRows(vectors.astype(np.float16), _NO_SCALES)
    if format_name == "int8":
        scales = (np.abs(vectors).max(axis=1) / np.float32(127)).astype(np.float32)
        divisors = np.where(scales > 0, scales, np.float32(1))
        rounded = np.rint(vectors / divisors[:, None])
        return EncodedRows(np.clip(rounded, -127, 127).astype(np.int8), scales)
    return EncodedRows(vectors, _NO_SCALES)
