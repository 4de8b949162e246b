"""Parameters: integers, numbers, choices and strategies, checked before any work."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np

from bitfold.errors import ParameterError, ParameterTypeError

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
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ParameterTypeError(name, owner, "a number", repr(value))
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise_invalid(name, owner, "a finite number above 0", value)
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
