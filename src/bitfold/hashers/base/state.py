"""The fitted state of a hasher: what it consists of, its digest, and what is derived from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter, is_
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

from sklearn.utils.validation import check_is_fitted

from bitfold._types import Float32Array
from bitfold.hashers import _persistence

T = TypeVar("T")

_derived: WeakKeyDictionary[FittedState, tuple[tuple[Any, ...], dict[str, Any]]] = (
    WeakKeyDictionary()
)
"""What was derived from the state of each hasher. It is not stored in the hasher, because encoding
must leave the attributes of an estimator unchanged."""


class FittedState:
    """Declares the fitted attributes of a hasher, and identifies their values.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    n_features_in_
        Number of features of the training vectors.
    center_
        Mean of the training vectors, after scaling.
    normalize_
        Whether rows are scaled to unit length.
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"center_": ("n_features_in_",)}
    """Shapes of the fitted arrays. A name that occurs twice stands for equal sizes."""

    _fitted_scalars: ClassVar[dict[str, type]] = {
        "n_bits_": int,
        "n_features_in_": int,
        "normalize_": bool,
    }
    """Types of the other fitted attributes. Integers are at least 1, floats finite."""

    _optional_arrays: ClassVar[frozenset[str]] = frozenset()
    """Fitted arrays that a model may not have; the class attribute is then None."""

    _fitted_hashers: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that are hashers themselves."""

    _matrix_params: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may be a matrix, which is not saved."""

    _not_in_digest: ClassVar[frozenset[str]] = frozenset(
        {"base_embedding_", "base_size_reason_", "n_iter_"}
    )
    """Fitted attributes that do not affect the codes."""

    n_bits_: int
    n_features_in_: int
    center_: Float32Array
    normalize_: bool

    @property
    def model_digest(self) -> str:
        """Identifier of the fitted model: equal if, and only if, the fitted state is equal.

        It covers what determines the codes, not the parameters or the feature names.
        """
        return self._derive("digest", lambda: _persistence.compute_digest(self))

    def _check_fitted_state(self) -> None:
        """Raise ValueError if attributes read from a file are inconsistent.

        Types, shapes and finiteness have been checked before.
        """

    def _derive(self, name: str, build: Callable[[], T]) -> T:
        """Return ``build()``, computed once per fitted state; ``name`` identifies the result."""
        hasher_class: Any = type(self)  # typed, it would not count as hashable
        try:
            state = _state_getter(hasher_class)(self)
        except AttributeError:
            check_is_fitted(self, "n_bits_")
            raise
        known, results = _derived.get(self, ((), {}))
        # Compared by identity, which takes a microsecond; ``fit`` replaces the arrays.
        if len(known) != len(state) or not all(map(is_, known, state)):
            results = {}
            _derived[self] = (state, results)
        if name not in results:
            results[name] = build()
        result: T = results[name]
        return result


@cache
def _state_getter(hasher_class: Any) -> attrgetter[tuple[Any, ...]]:
    """Return a function that reads all fitted attributes of a hasher at once."""
    return attrgetter(
        *hasher_class._fitted_arrays, *hasher_class._fitted_scalars, *hasher_class._fitted_hashers
    )
