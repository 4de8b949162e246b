"""Hashers as files: parameters and fitted scalars become JSON, fitted arrays become tensors."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from bitfold import _validation
from bitfold._types import AnyArray, PathLike
from bitfold.base_set import BaseStrategy
from bitfold.embedding import Embedding
from bitfold.errors import DataError, FormatError
from bitfold.io.model_file import StoredModel, read_model

if TYPE_CHECKING:
    from bitfold.hashers.base.hasher import Hasher
    from bitfold.hashers.base.state import FittedState


def describe_hasher(hasher: Hasher, root: type[Any]) -> StoredModel:
    """Return what the file of a fitted hasher contains; raise if it could not be loaded.

    ``root`` is the class that all hashers are derived from.
    """
    model = _collect_state(hasher)
    for name, value in model.meta["params"].items():
        _check_storable(value, name, model.kind)
    try:
        _restore_hasher(model, root, type(hasher))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise DataError(f"The {model.kind} model cannot be saved: {reason}.") from None
    return model


def _check_storable(value: Any, name: str, kind: str) -> None:
    """Raise unless a parameter, as a value of JSON, can be stored."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        requirement = (
            "a plain value, or an estimator whose parameters are, so that it can be stored (None "
            "saves the model without it)"
        )
        _validation.raise_invalid(name, kind, requirement, repr(value))


def _collect_state(hasher: Hasher) -> StoredModel:
    names = getattr(hasher, "feature_names_in_", None)
    params = {name: to_json(value) for name, value in hasher.get_params(False).items()}
    for name in hasher._matrix_params:
        # What was learned from a matrix is in the fitted arrays.
        params[name] = None if isinstance(params[name], np.ndarray) else params[name]
    meta: dict[str, Any] = {
        "params": params,
        "fitted": {name: to_json(getattr(hasher, name)) for name in hasher._fitted_scalars},
        "feature_names": None if names is None else [str(name) for name in names],
    }
    arrays = {name: getattr(hasher, name) for name in hasher._fitted_arrays}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    if hasher._fitted_hashers:
        meta["parts"] = {}
    for part in hasher._fitted_hashers:
        stored = _collect_state(getattr(hasher, part))
        meta["parts"][part] = {"kind": stored.kind, "meta": stored.meta}
        arrays |= {f"{part}.{name}": array for name, array in stored.arrays.items()}
    return StoredModel(type(hasher).__name__, meta, arrays)


def compute_digest(hasher: FittedState) -> str:
    """Return 16 hexadecimal digits that identify what determines the codes of a fitted hasher."""
    scalars = hasher._fitted_scalars.keys() - hasher._not_in_digest
    values = {name: to_json(getattr(hasher, name)) for name in scalars}
    digest = hashlib.sha256(json.dumps([type(hasher).__name__, values], sort_keys=True).encode())
    for name in sorted(hasher._fitted_arrays.keys() - hasher._not_in_digest):
        if (array := getattr(hasher, name)) is None:
            continue
        array = np.ascontiguousarray(array)
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data)
    for part in hasher._fitted_hashers:
        digest.update(f"{part} {getattr(hasher, part).model_digest} ".encode())
    return digest.hexdigest()[:16]


def load_hasher(path: PathLike, root: type[Any], *, mmap: bool = False) -> Hasher:
    """Read a hasher whose class is derived from ``root``."""
    model = read_model(path, mmap=mmap)
    try:
        return _restore_hasher(model, root)
    except _UnknownClassError as error:
        raise FormatError(
            f"{path} contains a model of the unknown hasher class {error.args[0]!r}. If it is "
            f"yours, import it before loading."
        ) from None
    # The file can have any wrong key, type or number, and parameters of another version.
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise FormatError(f"{path} is not a valid {model.kind} model: {reason}.") from None


class _UnknownClassError(Exception):
    """The class of a stored hasher is not known."""


def _restore_hasher(model: StoredModel, root: type[Any], kind: type[Any] | None = None) -> Hasher:
    """Build a hasher; its state is checked completely before a kernel sees it."""
    kind = kind or find_class(root, model.kind)
    if kind is None:
        raise _UnknownClassError(model.kind)
    params, fitted = model.meta["params"], dict(model.meta["fitted"].items())
    names = model.meta["feature_names"]
    hasher: Hasher = kind(**{name: from_json(value, root) for name, value in params.items()})
    parts, arrays = _restore_parts(model, hasher, root)
    _check_scalars(fitted, hasher._fitted_scalars)
    _check_arrays(arrays, hasher._fitted_arrays, hasher._optional_arrays, fitted)
    _check_feature_names(names, fitted["n_features_in_"])
    hasher.__dict__.update(fitted | arrays | parts)
    if names is not None:
        hasher.feature_names_in_ = np.array(names, object)
    hasher._check_fitted_state()
    return hasher


def _restore_parts(
    model: StoredModel, hasher: Hasher, root: type[Any]
) -> tuple[dict[str, Hasher], dict[str, AnyArray]]:
    """Return the hashers that are parts of a hasher, and the arrays of the hasher itself."""
    stored = model.meta.get("parts", {})
    if set(stored) != set(hasher._fitted_hashers):
        raise ValueError(
            f"its parts are {sorted(stored)} instead of {list(hasher._fitted_hashers)}"
        )
    own, parts = dict(model.arrays), {}
    for name, part in stored.items():
        prefix = f"{name}."
        arrays = {
            key.removeprefix(prefix): own.pop(key) for key in list(own) if key.startswith(prefix)
        }
        parts[name] = _restore_hasher(StoredModel(part["kind"], part["meta"], arrays), root)
    return parts, own


def find_class(root: type[Any], name: str) -> type[Any] | None:
    """Return the concrete class with this name, which may be a user's own."""
    found = [kind for kind in _iter_subclasses(root) if kind.__name__ == name]
    # The last one: in a notebook, a class may have been defined again.
    return found[-1] if found else None


def _iter_subclasses(root: type[Any]) -> Iterator[type[Any]]:
    for kind in root.__subclasses__():
        if not inspect.isabstract(kind):
            yield kind
        yield from _iter_subclasses(kind)


def to_json(value: Any) -> Any:
    """Return a parameter as a value of JSON; an estimator becomes its class and parameters."""
    if isinstance(value, BaseEstimator):
        params = {name: to_json(v) for name, v in value.get_params(False).items()}
        return {"strategy": type(value).__name__, "params": params}
    if isinstance(value, np.random.Generator):
        return None  # Its state has changed since fit; only a seed can be repeated.
    return value.item() if isinstance(value, np.generic) else value


def from_json(value: Any, root: type[Any]) -> Any:
    """Return the parameter of a value of JSON; hashers are derived from ``root``."""
    if not isinstance(value, dict):
        return value
    name = value["strategy"]
    families = (BaseStrategy, Embedding, root)
    known = (find_class(family, name) for family in families)
    kind = next(filter(None, (*known, _find_learner(name))), None)
    if kind is None:
        warnings.warn(
            f"Unknown strategy {name!r}. It is not needed for encoding, but refitting will use "
            f"the default.",
            stacklevel=6,
        )
        return None
    return kind(**{name: from_json(v, root) for name, v in value["params"].items()})


def _find_learner(name: str) -> type[Any] | None:
    """Return the supervised transformer of scikit-learn with this name, if it is imported.

    Others are not looked for, because a file must not choose which code runs.
    """
    kind = find_class(TransformerMixin, name)
    is_known = kind is not None and kind.__module__.startswith("sklearn.")
    return kind if is_known else None


def _check_scalars(fitted: dict[str, Any], types: dict[str, type]) -> None:
    """Raise unless every scalar is present, of the right type and in its range."""
    if fitted.keys() != types.keys():
        raise ValueError(f"its scalars are {sorted(fitted)} instead of {sorted(types)}")
    for name, value in fitted.items():
        # Compared by type, because isinstance accepts a bool as an integer.
        is_valid = type(value) is types[name]
        if type(value) is int:
            is_valid = is_valid and value >= 1
        if isinstance(value, float):
            is_valid = is_valid and math.isfinite(value)
        if not is_valid:
            raise ValueError(f"{name} is {value!r:.50}")


def _check_arrays(
    arrays: dict[str, AnyArray],
    shapes: dict[str, tuple[str, ...]],
    optional: frozenset[str],
    fitted: dict[str, Any],
) -> None:
    """Raise unless every array is present, finite, float32, and of a shape that fits the others."""
    if arrays.keys() | optional != shapes.keys() | optional or arrays.keys() - shapes.keys():
        raise ValueError(f"its arrays are {sorted(arrays)} instead of {sorted(shapes)}")
    sizes = dict(fitted)
    for name, array in arrays.items():
        shape = shapes[name]
        fits = len(shape) == array.ndim and all(
            sizes.setdefault(axis, size) == size
            for axis, size in zip(shape, array.shape, strict=True)
        )
        if not fits or not array.size:
            raise ValueError(f"array {name} has shape {array.shape}")
        if array.dtype != np.float32:
            raise ValueError(f"array {name} has dtype {array.dtype}")
        if not np.isfinite(array).all():
            raise ValueError(f"array {name} is not finite")


def _check_feature_names(names: Any, n_features: int) -> None:
    """Raise unless there is one string per feature, or None."""
    if names is None:
        return
    is_text = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_text or len(names) != n_features:
        raise ValueError(f"its feature names are not {n_features} strings")
