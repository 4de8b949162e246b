"""Ids of items: validation and automatic numbering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Ids
from bitfold.errors import DataError

MAX_ID = (1 << 63) - 1
"""Largest id: ids are signed 64-bit integers."""

_N_SHOWN_IDS = 3
"""Number of ids that an error message shows."""


class IdAssigner:
    """Assigns ids to one batch of codes after another.

    Parameters
    ----------
    owner
        Class that is named in errors.
    next_id
        First automatic id; afterward it follows the largest id assigned so far.

    Examples
    --------
    >>> assigner = IdAssigner("HammingIndex", next_id=0)
    >>> assigner.assign([7, 3], 2).tolist(), assigner.assign(None, 2).tolist()
    ([7, 3], [8, 9])
    """

    def __init__(self, owner: str, next_id: int) -> None:
        self.next_id = next_id
        self._owner = owner

    def assign(self, ids: ArrayLike | None, n_codes: int) -> Ids:
        """Return the ids of a batch.

        Parameters
        ----------
        ids
            Ids that the user passed; None assigns the next ones.
        n_codes
            Number of codes in the batch.

        Returns
        -------
        One id per code, unique within the batch.

        Raises
        ------
        ParameterError
            If ``ids`` are not one integer per code.
        DataError
            If an id appears twice, or no automatic ids are left.
        """
        assigned = self._next_ids(n_codes) if ids is None else self._check(ids, n_codes)
        if n_codes:
            self.next_id = max(self.next_id, int(assigned.max()) + 1)
        return assigned

    def _next_ids(self, n_codes: int) -> Ids:
        if not n_codes:  # the next id may be too large for an array
            return np.empty(0, np.int64)
        if self.next_id + n_codes > MAX_ID + 1:
            raise DataError(
                f"{self._owner} has no automatic ids left after {self.next_id - 1}; "
                f"pass ids explicitly."
            )
        return self.next_id + np.arange(n_codes, dtype=np.int64)

    def _check(self, ids: ArrayLike, n_codes: int) -> Ids:
        checked = check_ids(ids, self._owner)
        if checked.shape != (n_codes,):
            requirement = f"one for each of the {n_codes} codes"
            _validation.raise_invalid("ids", self._owner, requirement, len(checked))
        check_unique_ids(checked, self._owner)
        return checked


def check_ids(ids: ArrayLike, owner: str, name: str = "ids") -> Ids:
    """Return ids as 64-bit integers.

    Parameters
    ----------
    ids
        One id, or a sequence of ids.
    owner
        Class that is named in errors.
    name
        Parameter that is named in errors.

    Returns
    -------
    A new one-dimensional array.

    Raises
    ------
    ParameterError
        If they are not integers of at most 64 bits.

    Examples
    --------
    >>> check_ids(5, "HammingIndex").tolist()
    [5]
    """
    array = np.atleast_1d(_validation.convert_to_array(ids, name, owner))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        got = f"dtype {array.dtype} of shape {array.shape}"
        _validation.raise_invalid(name, owner, "a list of integers of at most 64 bits", got)
    if array.dtype == np.uint64 and len(array) and int(array.max()) > MAX_ID:
        _validation.raise_invalid(name, owner, f"at most {MAX_ID}", int(array.max()))
    return array.astype(np.int64)


def check_unique_ids(ids: Ids, owner: str) -> None:
    """Raise if an id appears twice.

    Parameters
    ----------
    ids
        Ids in any order.
    owner
        Class that is named in errors.

    Raises
    ------
    DataError
        If an id appears twice.

    Examples
    --------
    >>> check_unique_ids(np.array([3, 1]), "HammingIndex")
    """
    ordered = np.sort(ids)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if len(repeated):
        raise_duplicate_ids(repeated, owner)


def raise_duplicate_ids(ids: Sequence[Any] | Ids, owner: str) -> NoReturn:
    """Raise the error for ids that appear twice or are already present.

    Parameters
    ----------
    ids
        The ids that are not unique.
    owner
        Class that is named in the error.

    Raises
    ------
    DataError
        Always.

    Examples
    --------
    >>> raise_duplicate_ids([8], "HammingIndex")
    Traceback (most recent call last):
        ...
    bitfold.errors.DataError: ids of HammingIndex must be unique and not yet present; duplicate: 8.
    """
    raise DataError(
        f"ids of {owner} must be unique and not yet present; duplicate: {_format_ids(ids)}."
    )


def raise_repeated_ids(ids: Sequence[Any] | Ids, owner: str) -> NoReturn:
    """Raise the error for a filter that repeats ids.

    Parameters
    ----------
    ids
        The ids that appear twice.
    owner
        Method that is named in the error.

    Raises
    ------
    DataError
        Always.

    Examples
    --------
    >>> raise_repeated_ids([8], "search")
    Traceback (most recent call last):
        ...
    bitfold.errors.DataError: among of search must not repeat ids; repeated: 8.
    """
    raise DataError(f"among of {owner} must not repeat ids; repeated: {_format_ids(ids)}.")


def raise_unknown_ids(ids: Sequence[Any] | Ids, owner: str) -> NoReturn:
    """Raise the error for ids that are not present.

    Parameters
    ----------
    ids
        The ids that were not found.
    owner
        Class that is named in the error.

    Raises
    ------
    DataError
        Always.

    Examples
    --------
    >>> raise_unknown_ids([4, 5, 6, 7, 8], "HammingIndex")
    Traceback (most recent call last):
        ...
    bitfold.errors.DataError: HammingIndex does not contain these ids: 4, 5, 6 and 2 more.
    """
    raise DataError(f"{owner} does not contain these ids: {_format_ids(ids)}.")


def _format_ids(ids: Sequence[Any] | Ids) -> str:
    n_more = len(ids) - _N_SHOWN_IDS
    return ", ".join(map(str, ids[:_N_SHOWN_IDS])) + (f" and {n_more} more" if n_more > 0 else "")
