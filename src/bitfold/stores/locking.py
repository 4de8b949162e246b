"""One lock per store: its methods run one after another, whichever threads call them.

Engines whose readers see a version of their own have a separate lock for readers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from bitfold._threads import SharedLock


class Lockable(Protocol):
    """An object with a lock for changes, and a lock for reads, which may be the same."""

    _lock: SharedLock
    _read_lock: AbstractContextManager[None]


S = TypeVar("S", bound=Lockable)
P = ParamSpec("P")
R = TypeVar("R")


def synchronized(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method that changes a store wait until no other thread changes it.

    Parameters
    ----------
    method
        A method of a :class:`Store`.

    Returns
    -------
    The method, which holds the lock of the store while it runs.

    Examples
    --------
    >>> class Counter:
    ...     def __init__(self):
    ...         self._lock = self._read_lock = SharedLock()
    ...         self.n_calls = 0
    ...
    ...     @synchronized
    ...     def count(self):
    ...         self.n_calls += 1
    >>> counter = Counter()
    >>> counter.count()
    >>> counter.n_calls
    1
    """

    @functools.wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return call


def synchronized_read(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method that only reads a store wait for changes, if the engine needs that.

    Parameters
    ----------
    method
        A method of a :class:`Store`.

    Returns
    -------
    The method, which holds the lock for reads while it runs.

    Examples
    --------
    >>> class Counter:
    ...     _lock = _read_lock = SharedLock()
    ...     n_calls = 3
    ...
    ...     @synchronized_read
    ...     def __len__(self):
    ...         return self.n_calls
    >>> len(Counter())
    3
    """

    @functools.wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._read_lock:
            return method(self, *args, **kwargs)

    return call
