"""A hasher as a file and back: hyper-parameters and scalars as JSON, learned arrays as tensors."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from bitfold._types import AnyArray, PathLike
from bitfold.base_set import BaseStrategy
from bitfold.embedding import Embedding
from bitfold.errors import FormatError
from bitfold.io import model_file
from bitfold.io.model_file import Stored

if TYPE_CHECKING:
    from bitfold.hashers.base.hasher import Hasher


def to_stored(hasher: Hasher) -> Stored:
    """Describe a fitted hasher."""
    names = getattr(hasher, "feature_names_in_", None)
    meta = {
        "params": {name: _to_json(value) for name, value in hasher.get_params(False).items()},
        "learned": {name: _to_json(getattr(hasher, name)) for name in hasher._fitted_scalars},
        "feature_names": None if names is None else [str(name) for name in names],
    }
    arrays = {name: getattr(hasher, name) for name in hasher._fitted_arrays}
    return Stored(type(hasher).__name__, meta, arrays)


def compute_digest(hasher: Hasher) -> str:
    """Return 16 hexadecimal digits that identify what determines the codes of a fitted hasher."""
    names = {*hasher._fitted_arrays, *hasher._fitted_scalars} - hasher._not_in_digest
    values = {name: getattr(hasher, name) for name in names}
    scalars = {name: _to_json(values[name]) for name in hasher._fitted_scalars if name in names}
    digest = hashlib.sha256(json.dumps([type(hasher).__name__, scalars], sort_keys=True).encode())
    for name in sorted(names & hasher._fitted_arrays.keys()):
        array = np.ascontiguousarray(values[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data)
    return digest.hexdigest()[:16]


def from_stored(stored: Stored, kinds: type[Any]) -> Hasher:
    """Make the hasher that was described; all its state is checked before a kernel sees it."""
    kind = find(kinds, stored.kind)
    if kind is None:
        raise FormatError(f"holds a {stored.kind}, which is no hasher known here")
    try:
        hasher: Hasher = kind(**{n: _from_json(v) for n, v in stored.meta["params"].items()})
        learned, names = {**stored.meta["learned"]}, stored.meta["feature_names"]
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise FormatError(f"is no {stored.kind} of this version ({error})") from None
    _check_scalars(learned, hasher._fitted_scalars)
    _check_layout(stored.arrays, hasher._fitted_arrays, learned)
    _check_names(names, learned["n_features_in_"])
    hasher.__dict__.update(learned | stored.arrays)
    if names is not None:
        hasher.feature_names_in_ = np.array(names, object)
    _check_meaning(hasher)
    return hasher


def load(path: PathLike, kinds: type[Any], *, mmap: bool = False) -> Hasher:
    """Read a hasher; an error names the file."""
    stored = model_file.read(path, mmap=mmap)
    try:
        return from_stored(stored, kinds)
    except FormatError as error:
        raise FormatError(f"{path} {error}.") from None


def find(root: type[Any], name: str) -> type[Any] | None:
    """Return the concrete class below ``root`` with this name; a user's own count too."""
    return next((kind for kind in _below(root) if kind.__name__ == name), None)


def _below(root: type[Any]) -> Iterator[type[Any]]:
    for kind in root.__subclasses__():
        if not inspect.isabstract(kind):
            yield kind
        yield from _below(kind)


def _to_json(value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        params = {name: _to_json(v) for name, v in value.get_params(False).items()}
        return {"strategy": type(value).__name__, "params": params}
    if isinstance(value, np.random.Generator):
        return None  # its state has moved on; a seed is what can be repeated
    return value.item() if isinstance(value, np.generic) else value


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind = find(BaseStrategy, value["strategy"]) or find(Embedding, value["strategy"])
    if kind is None:
        warnings.warn(
            f"strategy {value['strategy']} is not known here; the codes need it no more, "
            f"but fitting again would use the default.",
            stacklevel=5,
        )
        return None
    return kind(**{name: _from_json(v) for name, v in value["params"].items()})


def _check_scalars(learned: dict[str, Any], types: dict[str, type]) -> None:
    """Refuse numbers and strings that are missing, unknown, of another type or out of range."""
    if learned.keys() != types.keys():
        raise FormatError("is damaged: its numbers are not those of the hasher it names")
    for name, value in learned.items():
        # A bool would pass for an integer.
        fits = type(value) is types[name]
        if not fits or (type(value) is int and value < 1) or not _is_finite(value):
            raise FormatError(f"is damaged: its {name} is not what the hasher needs")


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _check_layout(
    arrays: dict[str, AnyArray], layout: dict[str, tuple[str, ...]], learned: dict[str, Any]
) -> None:
    """Refuse arrays that are missing, unknown, empty, of another type or shapes that disagree."""
    if arrays.keys() != layout.keys():
        raise FormatError("is damaged: its arrays are not those of the hasher it names")
    sizes = dict(learned)
    for name, shape in layout.items():
        array = arrays[name]
        agree = len(shape) == array.ndim and all(
            sizes.setdefault(side, size) == size
            for side, size in zip(shape, array.shape, strict=True)
        )
        usable = array.size > 0 and array.dtype == np.float32 and np.isfinite(array).all()
        if not (agree and usable):
            raise FormatError(f"is damaged: its array {name} is not what the hasher needs")


def _check_names(names: Any, n_features: int) -> None:
    """Refuse column names that are not one string a feature."""
    if names is None:
        return
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(names) != n_features:
        raise FormatError("is damaged: its feature names are not one for each feature")


def _check_meaning(hasher: Hasher) -> None:
    try:
        hasher._check_fitted_state()
    except (TypeError, ValueError) as error:
        raise FormatError(f"is damaged: {str(error).rstrip('.')}") from None
