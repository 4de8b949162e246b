"""Ids: what users may give, and what they get when they give none."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Ids

LARGEST = (1 << 63) - 1


class Numbering:
    """Gives ids to batch after batch; given ones are checked within their batch.

    Parameters
    ----------
    owner
        Whom errors speak of.
    next_id
        The id that follows the largest so far.
    """

    def __init__(self, owner: str, next_id: int) -> None:
        self.next_id = next_id
        self._owner = owner

    def assign(self, ids: ArrayLike | None, count: int) -> Ids:
        """Return the ids of a batch of some codes."""
        if ids is None:
            if self.next_id + count > LARGEST + 1:
                demand = f"given: none are left after {self.next_id - 1}"
                _validation.raise_invalid("ids", self._owner, demand, "None")
            numbers = self.next_id + np.arange(count, dtype=np.int64)
        else:
            numbers = self._given(ids, count)
        if count:
            self.next_id = max(self.next_id, int(numbers.max()) + 1)
        return numbers

    def _given(self, ids: ArrayLike, count: int) -> Ids:
        numbers = integers(ids, self._owner)
        if numbers.shape != (count,):
            demand = f"one for each of the {count} codes"
            _validation.raise_invalid("ids", self._owner, demand, len(numbers))
        raise_repeated(numbers, self._owner)
        return numbers


def integers(ids: ArrayLike, owner: str) -> Ids:
    """Return ids as 64-bit integers."""
    array = np.atleast_1d(np.asarray(ids))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        came = f"dtype {array.dtype} of shape {array.shape}"
        _validation.raise_invalid("ids", owner, "a list of integers of at most 64 bits", came)
    if array.dtype == np.uint64 and len(array) and int(array.max()) > LARGEST:
        _validation.raise_invalid("ids", owner, f"at most {LARGEST}", int(array.max()))
    return array.astype(np.int64)


def raise_repeated(ids: Ids, owner: str) -> None:
    """Raise if an id is there twice."""
    ordered = np.sort(ids)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if len(repeated):
        raise_taken(owner, repeated)


def raise_taken(owner: str, ids: Any) -> NoReturn:
    """Say which ids are not new."""
    raise_ids(owner, "new and all different", ids)


def raise_ids(owner: str, demand: str, ids: Any) -> NoReturn:
    """Say which ids are not as they must be, at most three of them by name."""
    some = ", ".join(map(str, ids[:3])) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
    _validation.raise_invalid("ids", owner, demand, some)
