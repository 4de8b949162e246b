"""safetensors: one tensor of a file, memory-mapped."""

from __future__ import annotations

import numpy as np
from safetensors import SafetensorError, safe_open

from bitfold._types import AnyArray
from bitfold.errors import FormatError
from bitfold.io.formats.request import ReadRequest
from bitfold.io.stream import Stream
from bitfold.io.tensor_map import DTYPES, TensorMap


def open_safetensors(request: ReadRequest) -> AnyArray | Stream:
    """Memory-map a matrix; one that is not aligned becomes a stream of aligned blocks."""
    matrix = _map_tensor(request, "matrices", 2)
    if matrix.flags.aligned:
        return matrix
    return Stream.from_slices(matrix, lambda blocks: map(np.array, blocks))


def read_safetensors_labels(request: ReadRequest) -> AnyArray:
    """Read a one- or two-dimensional tensor of numbers."""
    return np.array(_map_tensor(request, "arrays", 1, 2))


def _map_tensor(request: ReadRequest, kind: str, *ndims: int) -> AnyArray:
    expected = f"a safetensors file with {kind}"
    with request.translate_errors(expected, SafetensorError):
        # The package validates the header, which is then read again.
        with safe_open(request.path, framework="np"):
            tensors = TensorMap(request.path)
        names = [name for name in tensors.names if len(tensors.shape(name)) in ndims]
    name = request.choose_name(names, kind)
    dtype = tensors.dtype_name(name)
    if dtype not in DTYPES:
        raise FormatError(
            f"{request.path} has tensor {name!r} of type {dtype}, which numpy does not have; "
            f"save it as F16 or F32."
        )
    with request.translate_errors(expected):
        return tensors.array(name)
