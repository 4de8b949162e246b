"""Input checks and random state, in one place.

Parameter errors share one form, as in ``n_bits of ITQ must be at most n_features=32, got 64.``
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np

from bitfold._types import AnyArray, Int64Array, Seed
from bitfold.errors import DataError, ParameterError, ParameterTypeError

T = TypeVar("T")

DEFAULT_N_BITS = 64
"""Length of the codes, unless the user chooses one or the data allow only shorter ones."""

MAX_N_BITS = 65_536
"""Largest code length of a hasher, far beyond any use: a typing error must not fill the memory."""


def raise_invalid(name: str, owner: str, requirement: str, value: object) -> NoReturn:
    """Raise the :class:`ParameterError` of a value that is not allowed."""
    raise ParameterError(name, owner, requirement, value)


def check_integer(
    value: Any, name: str, owner: str, *, low: int, high: int | None = None, why: str = ""
) -> int:
    """Return an integer parameter as an int.

    Parameters
    ----------
    value
        The value; Python and numpy integers are accepted, booleans are not.
    name
        Name of the parameter, for the error.
    owner
        Class or function that the parameter belongs to.
    low, high
        Limits, both inclusive.
    why
        Describes the upper limit in the error, as in ``"n_features=32"``.

    Returns
    -------
    int
        The value.

    Raises
    ------
    ParameterTypeError
        If the value is not an integer.
    ParameterError
        If it is outside the limits.

    Examples
    --------
    >>> check_integer(16, "n_bits", "MyHasher", low=1)
    16
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise ParameterTypeError(name, owner, "an integer", repr(value))
    number = int(value)
    if number < low:
        raise_invalid(name, owner, f"at least {low}", number)
    if high is not None and number > high:
        raise_invalid(name, owner, f"at most {why or high}", number)
    return number


def check_n_bits(
    n_bits: Any, owner: str, limit: int, why: str, default: int = DEFAULT_N_BITS
) -> int:
    """Return a code length of at most ``limit``; None is the default, or the limit if smaller."""
    if n_bits is None:
        return min(default, limit)
    return check_integer(n_bits, "n_bits", owner, low=1, high=limit, why=why)


def check_not_absurd(n_bits: Any, owner: str) -> None:
    """Raise if a code length is an integer above ``MAX_N_BITS``; anything else is checked later."""
    if isinstance(n_bits, numbers.Integral) and int(n_bits) > MAX_N_BITS:
        raise_invalid("n_bits", owner, f"at most {MAX_N_BITS}", int(n_bits))


def _check_number(value: Any, name: str, owner: str) -> float:
    """Return a real number as a float; booleans are not numbers here."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ParameterTypeError(name, owner, "a number", repr(value))
    return float(value)


def check_positive(value: Any, name: str, owner: str) -> float:
    """Return a number greater than zero as a float.

    Parameters
    ----------
    value
        The value.
    name
        Name of the parameter, for the error.
    owner
        Class or function that the parameter belongs to.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ParameterTypeError
        If the value is not a number.
    ParameterError
        If it is not finite and greater than zero.

    Examples
    --------
    >>> check_positive(2, "eta", "MyHasher")
    2.0
    """
    number = _check_number(value, name, owner)
    if not (np.isfinite(number) and number > 0):
        raise_invalid(name, owner, "a finite number above 0", value)
    return number


def check_fraction(value: Any, name: str, owner: str) -> float:
    """Return a number of at least 0 and below 1 as a float.

    Parameters
    ----------
    value
        The value.
    name
        Name of the parameter, for the error.
    owner
        Class or function that the parameter belongs to.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ParameterTypeError
        If the value is not a number.
    ParameterError
        If it is not at least 0 and below 1.

    Examples
    --------
    >>> check_fraction(0.5, "momentum", "MyHasher")
    0.5
    """
    number = _check_number(value, name, owner)
    if not 0 <= number < 1:
        raise_invalid(name, owner, "at least 0 and below 1", value)
    return number


def check_bandwidth(value: Any, name: str, owner: str) -> float:
    """Return a bandwidth σ as a float whose square fits into float64.

    Parameters
    ----------
    value
        The value.
    name
        Name of the parameter, for the error.
    owner
        Class or function that the parameter belongs to.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ParameterTypeError
        If the value is not a number.
    ParameterError
        If it is not between 1e-150 and 1e150.

    Examples
    --------
    >>> check_bandwidth(0.5, "bandwidth", "MyHasher")
    0.5
    """
    sigma = check_positive(value, name, owner)
    if not 1e-150 <= sigma <= 1e150:
        raise_invalid(name, owner, "between 1e-150 and 1e150", value)
    return sigma


def check_choice(value: Any, name: str, owner: str, choices: tuple[Any, ...]) -> Any:
    """Return a value if it is one of several choices.

    Parameters
    ----------
    value
        The value.
    name
        Name of the parameter, for the error.
    owner
        Class or function that the parameter belongs to.
    choices
        The values that are allowed.

    Returns
    -------
    Any
        The value.

    Raises
    ------
    ParameterError
        If it is not one of the choices.

    Examples
    --------
    >>> check_choice("itq", "rotation", "MyHasher", (None, "itq"))
    'itq'
    """
    if not any(value is choice or (value == choice) is True for choice in choices):
        raise_invalid(name, owner, f"one of {', '.join(map(repr, choices))}", repr(value))
    return value


def check_boolean(value: Any, name: str, owner: str) -> bool:
    """Return a parameter that is True or False, of Python or numpy, as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterTypeError(name, owner, "True or False", repr(value))
    return bool(value)


def check_strategy(
    value: Any,
    name: str,
    owner: str,
    classes: Mapping[str, type[T]],
    kind: type[Any],
    **params: Any,
) -> T:
    """Return a strategy object: the object itself, or one made by name.

    None is the first name. ``params`` are the parameters of an object that is made by name.
    """
    if value is None:
        value = next(iter(classes))
    if isinstance(value, str) and value in classes:
        return classes[value](**params)
    if not isinstance(value, kind):
        choices = ", ".join(map(repr, classes))
        requirement = f"one of {choices}, or an object of {kind.__name__}"
        raise_invalid(name, owner, requirement, repr(value))
    strategy: T = value
    return strategy


def check_matrix(X: Any, owner: str, *, name: str = "X", min_rows: int = 1) -> AnyArray:
    """Return ``X`` as a 2-D array of real numbers, without copying an array.

    Memory maps stay memory maps. Whether the values are finite is checked block by block by
    :class:`bitfold.io.rows.Rows`, so that nothing is read twice.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise ParameterTypeError(name, owner, "dense", f"a sparse matrix; use {name}.toarray()")
    array = convert_to_array(X, name, owner)
    if array.dtype.kind == "c":
        # scikit-learn's checks look for the first three words.
        raise DataError(
            f"Complex data not supported: {name} of {owner} must be real, got dtype {array.dtype}."
        )
    if array.dtype.kind not in "fiub":
        array = _convert_to_floats(array, owner, name)
    if array.ndim != 2:
        raise DataError(
            f"{name} of {owner} must be 2-dimensional (rows, features), got shape {array.shape}. "
            f"Reshape your data with {name}.reshape(1, -1) if it is one row."
        )
    _check_shape(array.shape, owner, name, min_rows)
    return array


def convert_to_array(values: Any, name: str, owner: str) -> AnyArray:
    """Return ``values`` as an array, without copying one; raise if it is masked or ragged."""
    # numpy drops the mask of a masked array without a word.
    if np.ma.is_masked(values):
        raise DataError(
            f"{name} of {owner} has masked values; fill them with {name}.filled(value), or remove "
            f"their rows."
        )
    if isinstance(values, np.ndarray):
        return values.data if isinstance(values, np.ma.MaskedArray) else values
    try:
        return np.asarray(values)
    except ValueError as error:
        # numpy's own message speaks of setting an array element with a sequence.
        if not isinstance(values, (list, tuple)):
            raise DataError(f"{name} of {owner} is not an array: {error}") from None
        raise DataError(
            f"{name} of {owner} must be rectangular, got rows of different lengths."
        ) from None


def _convert_to_floats(array: AnyArray, owner: str, name: str) -> AnyArray:
    """Convert an object array of numbers to floats; raise for anything else."""
    try:
        if array.dtype.kind != "O":
            raise ValueError(f"dtype {array.dtype}")
        return array.astype(np.float64)
    except TypeError as error:
        # scikit-learn's contract: a value of the wrong type stays a TypeError.
        raise ParameterTypeError(name, owner, "numbers", error) from None
    except ValueError as error:
        raise DataError(f"{name} of {owner} must hold numbers, got {error}.") from None


def _check_shape(shape: tuple[int, ...], owner: str, name: str, min_rows: int) -> None:
    """Raise in the words that scikit-learn's checks expect."""
    rows, features = shape
    if features < 1:
        raise DataError(
            f"{name} of {owner} has 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )
    if rows < min_rows:
        raise DataError(
            f"{name} of {owner} has {rows} sample(s) (shape={shape}) "
            f"while a minimum of {min_rows} is required."
        )


def check_finite(
    block: AnyArray,
    owner: str,
    *,
    name: str = "X",
    first_row: int = 0,
    rows: Int64Array | None = None,
) -> None:
    """Raise if a block contains NaN, infinity or values too large for float32; name the row.

    Rows are numbered from ``first_row``, or by ``rows`` if given.
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
        number = first_row + row if rows is None else int(rows[row])
        raise DataError(f"{name} of {owner} must be finite, got {what} in row {number}.")


def check_distances_fit(block: AnyArray, owner: str, *, first_row: int = 0) -> None:
    """Raise if distances between such rows could overflow float32, the type that faiss uses.

    faiss crashes on an infinite distance. The values themselves must be finite.
    """
    # Coordinates differ by at most twice the limit; another factor 2 covers intermediate sums.
    limit = float(np.sqrt(np.finfo(np.float32).max / block.shape[1])) / 4
    if max(block.max(), -block.min()) > limit:
        row, column = np.argwhere(np.abs(block) > limit)[0]
        raise DataError(
            f"X of {owner} must be within ±{limit:.2g}, so that distances fit into float32, "
            f"got {block[row, column]:.2g} in row {first_row + row}."
        )


def spawn_generators(random_state: Seed, count: int) -> list[np.random.Generator]:
    """Spawn one generator per stage, so that a change in one stage leaves the others alone.

    Parameters
    ----------
    random_state
        Seed, generator, or None for a random seed.
    count
        Number of generators.

    Returns
    -------
    list
        Independent generators.

    Raises
    ------
    ParameterError
        If the seed is not an integer of at least 0.

    Examples
    --------
    >>> first, second = spawn_generators(0, 2)
    >>> first.random() == second.random()
    False
    """
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(count)
    if random_state is not None:
        check_integer(random_state, "random_state", "the estimator", low=0)
    return np.random.default_rng(random_state).spawn(count)


def make_generator(random_state: Seed) -> np.random.Generator:
    """Return a generator.

    Parameters
    ----------
    random_state
        Seed, generator (returned unchanged), or None for a random seed.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Examples
    --------
    >>> make_generator(0).random() == make_generator(0).random()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return spawn_generators(random_state, 1)[0]
