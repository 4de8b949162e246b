"""A hasher as a file and back: hyper-parameters and scalars as JSON, learned arrays as tensors."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bitfold import persistence
from bitfold.base_set import BaseStrategy
from bitfold.embedding import Embedding
from bitfold.persistence import FormatError, Stored

if TYPE_CHECKING:
    from bitfold.hashers._base import Hasher


def to_stored(hasher: Hasher) -> Stored:
    """Describe a fitted hasher."""
    learned = {n: v for n, v in vars(hasher).items() if n.endswith("_") and not n.startswith("_")}
    names = learned.pop("feature_names_in_", None)
    meta = {
        "params": {name: _to_json(value) for name, value in hasher.get_params(False).items()},
        "learned": {n: _to_json(v) for n, v in learned.items() if n not in hasher._layout},
        "feature_names": None if names is None else [str(name) for name in names],
    }
    arrays = {n: v for n, v in learned.items() if n in hasher._layout}
    return Stored(type(hasher).__name__, meta, arrays)


def from_stored(stored: Stored, kinds: type[Hasher]) -> Hasher:
    """Make the hasher that was described; every shape is checked before a kernel sees it."""
    kind = find(kinds, stored.kind)
    if kind is None:
        raise FormatError(f"holds a {stored.kind}, which is no hasher known here")
    try:
        hasher = kind(**{n: _from_json(v) for n, v in stored.meta["params"].items()})
        vars(hasher).update(stored.meta["learned"])
        names = stored.meta["feature_names"]
    except (AttributeError, KeyError, TypeError) as error:
        raise FormatError(f"is no {stored.kind} of this version ({error})") from None
    if names is not None:
        hasher.feature_names_in_ = np.array(names, object)
    vars(hasher).update(stored.arrays)
    _check_layout(hasher, stored.arrays)
    return hasher


def load(path: persistence.PathLike, kinds: type[Hasher], *, mmap: bool = False) -> Hasher:
    """Read a hasher; an error names the file."""
    stored = persistence.read(path, mmap=mmap)
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


def _check_layout(hasher: Hasher, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays that are missing, unknown, of another type or of shapes that do not agree."""
    if arrays.keys() != hasher._layout.keys():
        raise FormatError("is damaged: its arrays are not those of the hasher it names")
    sizes: dict[str, Any] = {
        name: getattr(hasher, name, None) for name in ("n_features_in_", "n_bits_")
    }
    for name, array in arrays.items():
        shape = hasher._layout[name]
        agree = len(shape) == array.ndim and all(
            sizes.setdefault(side, size) == size
            for side, size in zip(shape, array.shape, strict=True)
        )
        if not agree or array.dtype != np.float32 or not np.isfinite(array).all():
            raise FormatError(f"is damaged: its array {name} is not what the hasher needs")
