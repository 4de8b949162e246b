"""Arrays that cannot be written to."""

from __future__ import annotations

from typing import TypeVar

from bitfold._types import AnyArray

Array = TypeVar("Array", bound=AnyArray)


def read_only(array: Array) -> Array:
    """Return a view that cannot be written to.

    Memory maps are read-only too, so that kernels compile for one kind of array.
    """
    view = array.view()
    view.flags["W"] = False
    return view
