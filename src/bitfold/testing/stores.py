"""The contract of indexes and stores as checks that anyone can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bitfold.search import CodeIndex
from bitfold.testing._running import run_checks
from bitfold.testing._store_checks import asymmetric, filters, index, store, threads

INDEX_CHECKS: tuple[Callable[[Callable[[int], Any]], None], ...] = (
    *index.INDEX_CHECKS,
    *asymmetric.ASYMMETRIC_CHECKS,
    *filters.FILTER_CHECKS,
    *threads.THREAD_CHECKS,
)
"""Checks of every index: functions that take a factory of empty indexes and raise on a failure."""

STORE_CHECKS: tuple[Callable[[Callable[[int], Any]], None], ...] = (
    *INDEX_CHECKS,
    *store.STORE_ONLY_CHECKS,
)
"""Checks of every store, which include those of an index."""


def check_store(make_store: Callable[[int], CodeIndex]) -> None:
    """Check that a store keeps the contract of all stores.

    A store must return the ids and distances of :class:`bitfold.HammingIndex`, change completely or
    not at all, also when several threads use it, and reject invalid input with clear errors.

    Parameters
    ----------
    make_store
        Called with ``n_bits``, between 1 and 1024; returns a new empty store each time.

    Raises
    ------
    AssertionError
        If a check fails; the message begins with the name of the check.

    See Also
    --------
    STORE_CHECKS : The checks one by one, for ``pytest.mark.parametrize``.

    Examples
    --------
    >>> from bitfold.stores import FaissStore
    >>> from bitfold.testing import check_store
    >>> check_store(FaissStore.create)
    """
    run_checks(STORE_CHECKS, make_store)
