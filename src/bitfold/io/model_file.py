"""Model files: arrays and JSON values in a safetensors file, with a checksum; no pickle.

The metadata of the file has one entry, ``bitfold``, a JSON object with ``format_version``,
``kind`` (such as "IMH"), ``meta`` (any JSON object) and ``sha256``. It is one entry because
safetensors writes several in random order, and equal models should give equal files. The checksum
covers the compact JSON text, with sorted keys, of ``[the other values, {name: [dtype, shape]}]``,
and then the bytes of the arrays in the order of their names.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from bitfold import _validation
from bitfold._types import AnyArray, PathLike
from bitfold.errors import FormatError
from bitfold.io.atomic import replace_atomically
from bitfold.io.file_checks import check_version, parse_json_object
from bitfold.io.tensor_map import DTYPES, TensorMap

FORMAT_VERSION = 1

# By text, because numpy has several types of one layout, such as long and long long.
_DTYPE_NAMES = {dtype.str: name for name, dtype in DTYPES.items()}

_MAX_META_BYTES = 50_000_000
"""Half the limit that safetensors has for a header; quotes in JSON can double the size."""


_MAX_ARRAYS = 1000
"""Far more than any hasher has; a header can claim millions, and checking them takes time."""


class StoredModel(NamedTuple):
    """The content of a model file.

    Parameters
    ----------
    kind
        What the file describes, such as "IMH".
    meta
        A JSON object.
    arrays
        Arrays of booleans, integers or reals of at most 64 bits.

    Examples
    --------
    >>> StoredModel("IMH", {"n_bits": 64}, {}).kind
    'IMH'
    """

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, AnyArray]


def write_model(path: PathLike, model: StoredModel) -> None:
    """Write a model, atomically and durably.

    Parameters
    ----------
    path
        The file to create or replace.
    model
        The content. Arrays of any memory order are stored in C order.

    Raises
    ------
    ParameterError
        A value cannot be stored.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> write_model("model.bitfold", StoredModel("IMH", {"n_bits": 64}, {"center": np.zeros(3)}))
    >>> read_model("model.bitfold").meta
    {'n_bits': 64}
    """
    kind = _check_text(model.kind, "kind", "StoredModel")
    if len(model.arrays) > _MAX_ARRAYS:
        requirement = f"at most {_MAX_ARRAYS} arrays"
        _validation.raise_invalid("arrays", kind, requirement, len(model.arrays))
    _check_meta(model.meta, kind)
    arrays = {
        _check_text(name, "the name of an array", kind): _convert_array(array, name, kind)
        for name, array in model.arrays.items()
    }
    content = {"format_version": FORMAT_VERSION, "kind": kind, "meta": model.meta}
    text = json.dumps(content | {"sha256": _compute_digest(content, arrays)})
    data = safetensors.numpy.save(arrays, {"bitfold": text})
    with replace_atomically(path) as file:
        file.write(data)


def read_model(path: PathLike, *, mmap: bool = False) -> StoredModel:
    """Read a model and verify every byte of it.

    Parameters
    ----------
    path
        A file written by :func:`write_model`.
    mmap
        Return read-only arrays that lie in the file and are shared between processes, instead of
        writable arrays in memory.

    Returns
    -------
    The content of the file.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    FormatError
        The file is damaged, or not a model.
    NewerFormatError
        The file was written by a newer version of bitfold.

    Examples
    --------
    >>> write_model("model.bitfold", StoredModel("IMH", {}, {"center": np.zeros(3)}))
    >>> read_model("model.bitfold", mmap=True).arrays["center"].tolist()
    [0.0, 0.0, 0.0]
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if not path.is_file():
        raise FormatError(f"{path} is a directory or a device, not a model.")
    try:
        with safe_open(path, framework="np") as file:
            if len(file.keys()) > _MAX_ARRAYS:
                raise FormatError(f"{path} is not a model: it has {len(file.keys())} arrays.")
            if mmap:
                tensors = TensorMap(path)
                content = _parse_content(path, tensors.metadata)
                arrays = {name: _align(tensors.array(name)) for name in tensors.names}
            else:
                content = _parse_content(path, file.metadata())
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        digest = content.pop("sha256")
        is_intact = digest == _compute_digest(content, arrays)
    except SafetensorError as error:
        raise FormatError(f"{path} is not a model, or it is damaged ({error}).") from None
    # safetensors also accepts types and shapes that numpy does not have.
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path} is damaged: it has an invalid array ({error}).") from None
    if not is_intact:
        raise FormatError(f"{path} is damaged: it does not match its checksum.")
    return StoredModel(content["kind"], content["meta"], arrays)


def _check_text(value: object, name: str, owner: str) -> str:
    # isprintable() also rejects lone surrogates, which safetensors cannot read.
    if not isinstance(value, str) or not value.isprintable() or value == "__metadata__":
        _validation.raise_invalid(
            name, owner, "printable text other than '__metadata__'", repr(value)
        )
    return value


def _check_meta(meta: dict[str, Any], owner: str) -> None:
    """Raise unless JSON gives an equal object back."""
    try:
        text = json.dumps(meta, allow_nan=False)
        is_equal = parse_json_object(text) == meta
        reason = "" if is_equal else "a tuple, a key that is not a string, or not a dict"
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"an error ({error})"
    if reason:
        _validation.raise_invalid("meta", owner, "a dict that JSON can represent", reason)
    if len(text) > _MAX_META_BYTES:
        limit = f"at most {_MAX_META_BYTES} bytes of JSON"
        _validation.raise_invalid("meta", owner, limit, len(text))


def _convert_array(array: AnyArray, name: str, owner: str) -> AnyArray:
    """Return the array in little-endian C order."""
    dtype = _DTYPE_NAMES.get(array.dtype.newbyteorder("<").str)
    if dtype is None:
        requirement = "booleans, integers or reals of at most 64 bits"
        _validation.raise_invalid(f"array {name!r}", owner, requirement, f"dtype {array.dtype}")
    return np.asarray(array, DTYPES[dtype], order="C")


def _compute_digest(content: dict[str, Any], arrays: dict[str, AnyArray]) -> str:
    about = {name: [_DTYPE_NAMES[a.dtype.str], a.shape] for name, a in arrays.items()}
    text = json.dumps([content, about], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(arrays[name].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _parse_content(path: Path, metadata: Any) -> dict[str, Any]:
    """Return the JSON object of the metadata, with values of the right types."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("bitfold"), str):
        raise FormatError(f"{path} is a safetensors file, but not one of bitfold.")
    content = parse_json_object(metadata["bitfold"])
    if content is None:
        raise FormatError(f"{path} is damaged: its metadata are invalid.")
    check_version(path, content.get("format_version"), FORMAT_VERSION)
    if "sha256" not in content and isinstance(content.get("kind"), str):
        raise FormatError(f"{path} contains bitfold {content['kind']!r}, not a model.")
    types = {"format_version": int, "kind": str, "meta": dict, "sha256": str}
    if {name: type(value) for name, value in content.items()} != types or len(metadata) > 1:
        raise FormatError(f"{path} is damaged: its metadata are invalid.")
    return content


def _align(array: AnyArray) -> AnyArray:
    """Return a read-only array that kernels can use; other writers do not align all arrays."""
    if not array.flags.aligned:
        array = array.copy()
        array.flags["W"] = False
    return array
