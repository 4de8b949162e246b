"""Hashers as ONNX graphs: vectors in, packed bits out, in any language with a runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from sklearn.utils.validation import check_is_fitted

from bitfold._types import Float32Array, PathLike
from bitfold.codes import count_bytes
from bitfold.errors import ParameterTypeError
from bitfold.hashers import Hasher
from bitfold.integrations._onnx_graph import GraphBuilder, describe_tensor, make_model
from bitfold.integrations._onnx_hashers import add_bits, add_centered

__all__ = ["export"]

_INPUT, _OUTPUT = "vectors", "codes"

_MAX_SINGLE_FILE = 1 << 30
"""Size of a model from which constants are in a file of their own; protobuf allows 2 GB."""


def export(hasher: Hasher, path: PathLike) -> None:
    """Write a fitted hasher as an ONNX graph.

    The input "vectors" is float32 of shape (rows, features), the output "codes" uint8 of shape
    (rows, bytes): the bytes of ``hasher.encode(X).packed``. Rounding differs in the last digit, so
    a bit whose real is almost zero may differ. The nearest base points are found by exact search,
    also where ``encode`` uses inverted lists. Memory is in proportion to the rows of one call.

    Parameters
    ----------
    hasher
        A fitted hasher.
    path
        File to write, usually ``.onnx``. If a model is larger than 1 GB, its constants are in a
        second file, with ``.data`` after the name.

    Raises
    ------
    ParameterTypeError
        If it is not a hasher, or one of your own whose reals no base class computes.
    sklearn.exceptions.NotFittedError
        If the hasher is not fitted.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import bitfold as bf
    >>> import numpy as np
    >>> import onnxruntime
    >>> X = np.random.default_rng(0).normal(size=(200, 16)).astype(np.float32)
    >>> hasher = bf.ITQ(16, random_state=0).fit(X)
    >>> export(hasher, "itq.onnx")
    >>> session = onnxruntime.InferenceSession("itq.onnx")
    >>> codes = session.run(["codes"], {"vectors": X})[0]
    >>> bool((codes == hasher.encode(X).packed).all())
    True
    """
    if not isinstance(hasher, Hasher):
        raise ParameterTypeError("hasher", "export", "a hasher", repr(hasher)[:60])
    check_is_fitted(hasher, "n_bits_")
    graph = GraphBuilder()
    bits = add_bits(graph, hasher, add_centered(graph, hasher, _INPUT))
    packed = graph.call("MatMul", graph.cast(bits, np.float32), _packing_matrix(hasher.n_bits_))
    graph.name_output(graph.cast(packed, np.uint8), _OUTPUT)
    inputs = [describe_tensor(_INPUT, np.float32, ("rows", hasher.n_features_in_))]
    outputs = [describe_tensor(_OUTPUT, np.uint8, ("rows", count_bytes(hasher.n_bits_)))]
    _save(make_model(graph.finish("hasher", inputs, outputs), _describe(hasher)), Path(path))


def _packing_matrix(n_bits: int) -> Float32Array:
    """Return the value of each bit in each byte; the first bit is the highest, as in packbits."""
    values = np.zeros((n_bits, count_bytes(n_bits)), np.float32)
    bit = np.arange(n_bits)
    values[bit, bit // 8] = 128 >> bit % 8
    return values


def _describe(hasher: Hasher) -> dict[str, str]:
    """Return what a reader of the file may want to know."""
    return {
        "bitfold_hasher": type(hasher).__name__,
        "bitfold_n_bits": str(hasher.n_bits_),
        "bitfold_model_digest": str(hasher.model_digest),
    }


def _save(model: Any, path: Path) -> None:
    is_large = model.ByteSize() > _MAX_SINGLE_FILE
    onnx.save_model(model, str(path), save_as_external_data=is_large, location=f"{path.name}.data")
