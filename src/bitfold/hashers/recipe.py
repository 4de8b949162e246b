"""Recipes: the class and the parameters of a hasher as JSON values, without anything fitted."""

from __future__ import annotations

import json
from typing import Any

from bitfold import _validation
from bitfold.errors import FormatError
from bitfold.hashers import _persistence
from bitfold.hashers.base.hasher import Hasher


def to_recipe(hasher: Hasher) -> dict[str, Any]:
    """Return what is needed to make an equal hasher that is not fitted.

    Parameters
    ----------
    hasher
        Any hasher, fitted or not.

    Returns
    -------
    Values that JSON can hold. A random generator becomes None, because its state changes.

    Raises
    ------
    ParameterError
        If a parameter cannot be stored.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> to_recipe(LSH(16, random_state=0))["strategy"]
    'LSH'
    """
    recipe: dict[str, Any] = _persistence.to_json(hasher)
    try:
        json.dumps(recipe, allow_nan=False)
    except (TypeError, ValueError):
        requirement = "plain values, strategies or hashers, so that they can be stored"
        _validation.raise_invalid("parameters", type(hasher).__name__, requirement, repr(hasher))
    return recipe


def from_recipe(recipe: Any) -> Hasher:
    """Return the hasher of a recipe, not fitted.

    Parameters
    ----------
    recipe
        What :func:`to_recipe` returned; it is not trusted.

    Returns
    -------
    A new hasher.

    Raises
    ------
    FormatError
        If the recipe is damaged, or its class is unknown.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> from_recipe(to_recipe(LSH(16, random_state=0)))
    LSH(n_bits=16, random_state=0)
    """
    try:
        name = recipe["strategy"]
        if _persistence.find_class(Hasher, name) is None:
            raise FormatError(
                f"The hasher class {name!r:.50} is unknown. If it is yours, import it first."
            )
        hasher = _persistence.from_json(recipe, Hasher)
    # A recipe can have any wrong key, type or number, and parameters of another version.
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise FormatError(f"The settings of the hasher are damaged: {error!r:.80}.") from None
    if not isinstance(hasher, Hasher):
        raise FormatError(
            f"The settings of the hasher are damaged: {name!r:.50} is something else."
        )
    return hasher
