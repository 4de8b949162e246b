"""Input checks, random state and the error sentence: the one place for them.

Every message has one shape: the name, the demand and what came, as in
``n_bits of ITQ must be at most n_features=32, got 64.``
"""

from __future__ import annotations

import numbers
from typing import Any, NoReturn

import numpy as np

from bitfold._types import AnyArray, Int64Array

Seed = int | np.random.Generator | None
"""What users may pass as ``random_state``."""


def refuse(name: str, owner: str, demand: str, got: object) -> NoReturn:
    """Raise the one error sentence."""
    raise ValueError(f"{name} of {owner} must be {demand}, got {got}.")


def integer(
    value: Any, name: str, owner: str, *, low: int, high: int | None = None, why: str = ""
) -> int:
    """Return ``value`` as an int within [low, high]; ``why`` explains the upper limit."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} of {owner} must be an integer, got {value!r}.")
    number = int(value)
    if number < low:
        refuse(name, owner, f"at least {low}", number)
    if high is not None and number > high:
        refuse(name, owner, f"at most {why or high}", number)
    return number


def positive(value: Any, name: str, owner: str) -> float:
    """Return ``value`` as a finite float above zero."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} of {owner} must be a number, got {value!r}.")
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        refuse(name, owner, "a finite number above 0", value)
    return number


def squarable(value: Any, name: str, owner: str) -> float:
    """Return a bandwidth σ as a float whose square float64 can hold."""
    sigma = positive(value, name, owner)
    if not 1e-150 <= sigma <= 1e150:
        refuse(name, owner, "between 1e-150 and 1e150", value)
    return sigma


def one_of(value: Any, name: str, owner: str, choices: tuple[Any, ...]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    if not any(value is choice or (value == choice) is True for choice in choices):
        refuse(name, owner, f"one of {', '.join(map(repr, choices))}", repr(value))
    return value


def generators(random_state: Seed, count: int) -> list[np.random.Generator]:
    """Spawn one child generator per stage, so that changing one stage does not move another."""
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(count)
    if random_state is not None:
        integer(random_state, "random_state", "the estimator", low=0)
    return np.random.default_rng(random_state).spawn(count)


def generator(random_state: Seed) -> np.random.Generator:
    """Return the generator itself, or a new one from a seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return generators(random_state, 1)[0]


def matrix(X: Any, owner: str, *, name: str = "X", min_rows: int = 1) -> AnyArray:
    """Return ``X`` as a 2-D array of real numbers, without a copy where it is one already.

    Memory maps stay memory maps. Whether the values are finite is checked block by block by
    whoever reads them (:class:`bitfold.io.rows.Rows`), so that nothing is read twice.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"{name} of {owner} must be dense, got a sparse matrix; use {name}.toarray()."
        )
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} of {owner} must be real, got dtype {array.dtype}."
        )
    if array.dtype.kind not in "fiub":
        array = _as_numbers(array, owner, name)
    if array.ndim != 2:
        raise ValueError(
            f"{name} of {owner} must be 2-dimensional (rows, features), got shape {array.shape}. "
            f"Reshape your data with {name}.reshape(1, -1) if it is one row."
        )
    _demand_shape(array.shape, owner, name, min_rows)
    return array


def _as_numbers(array: AnyArray, owner: str, name: str) -> AnyArray:
    """Turn an object array of numbers into floats; anything else is an error."""
    try:
        if array.dtype.kind != "O":
            raise ValueError(f"dtype {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        # scikit-learn's contract: a value of the wrong type stays a TypeError.
        raise type(error)(f"{name} of {owner} must hold numbers, got {error}.") from None


def _demand_shape(shape: tuple[int, ...], owner: str, name: str, min_rows: int) -> None:
    rows, features = shape
    if features < 1:
        raise ValueError(
            f"{name} of {owner} has 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )
    if rows < min_rows:
        raise ValueError(
            f"{name} of {owner} has {rows} sample(s) (shape={shape}) "
            f"while a minimum of {min_rows} is required."
        )


def finite(
    block: AnyArray,
    owner: str,
    *,
    name: str = "X",
    first_row: int = 0,
    rows: Int64Array | None = None,
) -> None:
    """Raise if a block holds NaN, infinity, or what float32 cannot hold; name the row.

    It is counted from ``first_row``, or it is among ``rows``.
    """
    if block.dtype.kind != "f":
        return
    # A quarter of float32's range: the difference of any two such values still fits.
    limit = np.finfo(np.float32).max / 4
    bad = ~(np.abs(block) <= limit)
    if bad.any():
        row = int(np.flatnonzero(bad.any(axis=1))[0])
        value = block[row][bad[row]][0]
        what = "NaN" if np.isnan(value) else "infinity or a value too large for float32"
        where = first_row + row if rows is None else int(rows[row])
        raise ValueError(f"{name} of {owner} must be finite, got {what} in row {where}.")


def measurable(block: AnyArray, owner: str, *, name: str = "X", first_row: int = 0) -> None:
    """Raise if distances between such rows could overflow float32, in which faiss counts them.

    It does not survive an infinite distance. Finite values are taken for granted.
    """
    # Coordinates differ by at most twice the limit; another factor 2 is for sums on the way.
    limit = float(np.sqrt(np.finfo(np.float32).max / block.shape[1])) / 4
    if max(block.max(), -block.min()) > limit:
        row, column = np.argwhere(np.abs(block) > limit)[0]
        demand = f"within ±{limit:.2g}, for distances to fit float32"
        refuse(name, owner, demand, f"{block[row, column]:.2g} in row {first_row + row}")


def labels(y: Any, n_rows: int, owner: str) -> AnyArray:
    """Return ``y`` as one label per row."""
    if y is None:
        raise ValueError(
            f"y of {owner} must be an array of {n_rows} labels, got None "
            f"(requires y to be passed, but the target y is None)."
        )
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.shape != (n_rows,):
        refuse("y", owner, f"one label for each of the {n_rows} rows of X", f"shape {array.shape}")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            refuse("y", owner, "finite", "NaN or infinity")
        if not (array == np.floor(array)).all():
            raise ValueError(f"Unknown label type: y of {owner} must be class labels, got reals.")
    if array.dtype.kind in "cOV":
        _demand_classes(array, owner)
    return array


def _demand_classes(array: AnyArray, owner: str) -> None:
    """Objects may be anything: as labels they must be there and comparable, -1 apart."""
    try:
        classes = sorted({label for label in array.tolist() if label != -1})
        comparable = None not in classes and all(label == label for label in classes)
    except TypeError:
        comparable = False
    if not comparable:
        refuse("y", owner, "labels that can be compared", "missing or mixed ones")
