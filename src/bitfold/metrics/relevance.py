"""Relevance: which items of the database answer which query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitfold import _validation
from bitfold._types import AnyArray, BoolArray, Ids


class Answered(NamedTuple):
    """Some queries that have the same answers, and these, ascending."""

    queries: Ids
    items: Ids


class Relevance(ABC):
    """Which items of the database answer which query.

    Queries with the same answers form a group; the answers of a group are listed when they are
    needed, so that nothing of size queries × database is ever held.

    Examples
    --------
    >>> relevance = Relevance.labels(["a", "b"], ["a", "b", "a"])
    >>> relevance.items(relevance.group_of[0])
    array([0, 2])
    """

    group_of: Ids
    """The group of each query."""

    @staticmethod
    def labels(query_labels: ArrayLike, labels: ArrayLike) -> Relevance:
        """Items that share a label with the query are relevant.

        Parameters
        ----------
        query_labels, labels
            One label a row; or several, as a matrix (rows, classes) of 0 and 1.
        """
        sizes = (len(np.atleast_1d(np.asarray(side))) for side in (query_labels, labels))
        return from_labels(query_labels, labels, *sizes)

    @staticmethod
    def neighbors(ids: ArrayLike) -> Relevance:
        """Items that are listed are relevant, such as :func:`closest_neighbors` lists them.

        Parameters
        ----------
        ids
            One row a query, in any order; negative ids are padding.
        """
        lists = checked_ids(ids, "ids", "Relevance.neighbors")
        return _Neighbors(np.arange(len(lists)), lists)

    @abstractmethod
    def items(self, group: int) -> Ids:
        """Return the ids relevant to the queries of a group, distinct and ascending."""

    @abstractmethod
    def demand(self, n_queries: int, n_items: int) -> None:
        """Raise unless this speaks of so many queries and database items."""

    def blocks(self, size: int) -> Iterator[Answered]:
        """Yield all queries, up to ``size`` at a time, with their answers."""
        order = np.argsort(self.group_of, kind="stable")
        starts = np.flatnonzero(np.diff(self.group_of[order], prepend=-1))
        for queries in np.split(order, starts[1:]):
            if len(queries):
                items = self.items(int(self.group_of[queries[0]]))
                for i in range(0, len(queries), size):
                    yield Answered(queries[i : i + size], items)


@dataclass(frozen=True)
class _OneLabel(Relevance):
    """Items in the order of their labels, so that those of one label are a slice."""

    group_of: Ids
    order: Ids
    starts: Ids

    def items(self, group: int) -> Ids:
        return self.order[self.starts[group] : self.starts[group + 1]]

    def demand(self, n_queries: int, n_items: int) -> None:
        _check_sizes(len(self.group_of), len(self.order), n_queries, n_items)


@dataclass(frozen=True)
class _ManyLabels(Relevance):
    """The distinct label sets of the queries; of the database, which items have which class."""

    group_of: Ids
    sets: BoolArray
    having: BoolArray

    def items(self, group: int) -> Ids:
        return np.flatnonzero(self.having[self.sets[group]].any(axis=0))

    def demand(self, n_queries: int, n_items: int) -> None:
        _check_sizes(len(self.group_of), self.having.shape[1], n_queries, n_items)


@dataclass(frozen=True)
class _Neighbors(Relevance):
    """One list of ids a query."""

    group_of: Ids
    ids: NDArray[np.integer[Any]]

    def items(self, group: int) -> Ids:
        ids = np.unique(self.ids[group])
        return ids[ids >= 0].astype(np.int64)

    def demand(self, n_queries: int, n_items: int) -> None:
        _check_sizes(len(self.ids), n_items, n_queries, n_items)
        if self.ids.size and self.ids.max() >= n_items:
            demand = f"below the number of database items, {n_items}"
            _validation.raise_invalid("ids", "Relevance.neighbors", demand, self.ids.max())


def from_labels(
    query_labels: ArrayLike, labels: ArrayLike, n_queries: int, n_items: int
) -> Relevance:
    """Relevance by labels of known numbers of queries and items."""
    if max(_n_classes(query_labels), _n_classes(labels)) > 1:
        return _by_label_sets(query_labels, labels, n_queries, n_items)
    q = _validation.check_labels(query_labels, n_queries, "the queries")
    d = _validation.check_labels(labels, n_items, "the database")
    both = np.concatenate([q, d])
    classes, group_of = np.unique(both[:n_queries], return_inverse=True)
    number = _numbered(both[n_queries:], classes)
    # Integers of 16 bits are sorted in linear time.
    narrow = np.uint16 if len(classes) < 1 << 16 else np.int64
    order = np.argsort(number.astype(narrow), kind="stable")
    starts = np.searchsorted(number[order], np.arange(len(classes) + 1))
    return _OneLabel(group_of, order, starts)


def as_relevance(
    relevance: Relevance | ArrayLike, labels: ArrayLike | None, n_queries: int, n_items: int
) -> Relevance:
    """Return a checked relevance, given as such or as the labels of both sides."""
    if not isinstance(relevance, Relevance):
        if labels is None:
            demand = "a Relevance, or labels with those of the database beside them"
            _validation.raise_invalid("relevance", "metrics", demand, type(relevance).__name__)
        return from_labels(relevance, labels, n_queries, n_items)
    if labels is not None:
        _validation.raise_invalid(
            "labels", "metrics", "left out beside a Relevance", type(labels).__name__
        )
    relevance.demand(n_queries, n_items)
    return relevance


def _numbered(labels: AnyArray, classes: AnyArray) -> Ids:
    """Return the place of each label among the sorted classes; their number if there is none."""
    place = np.searchsorted(classes, labels)
    known = place < len(classes)
    known[known] = classes[place[known]] == labels[known]
    return np.where(known, place, len(classes))


def _by_label_sets(
    query_labels: ArrayLike, labels: ArrayLike, n_queries: int, n_items: int
) -> Relevance:
    q = _indicators(query_labels, n_queries, "query_labels")
    d = _indicators(labels, n_items, "labels")
    if q.shape[1] != d.shape[1]:
        demand = f"of as many classes as labels, {d.shape[1]}"
        _validation.raise_invalid("query_labels", "Relevance.labels", demand, q.shape[1])
    sets, group_of = np.unique(q, axis=0, return_inverse=True)
    return _ManyLabels(group_of.reshape(-1), sets, np.ascontiguousarray(d.T))


def _indicators(labels: ArrayLike, n_rows: int, name: str) -> BoolArray:
    array = np.asarray(labels)
    if array.ndim != 2 or len(array) != n_rows:
        demand = f"a matrix ({n_rows}, classes) like the other side"
        _validation.raise_invalid(name, "Relevance.labels", demand, f"shape {array.shape}")
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        _validation.raise_invalid(name, "Relevance.labels", "0 or 1 in each class", "other values")
    return array.astype(bool, copy=False)


def _n_classes(labels: ArrayLike) -> int:
    shape = np.shape(labels)
    return shape[1] if len(shape) == 2 else 1


def checked_ids(ids: ArrayLike, name: str, owner: str) -> NDArray[np.integer[Any]]:
    """Return ids as a matrix of integers, one row a query."""
    array = np.asarray(ids)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        came = f"{array.dtype} of shape {array.shape}"
        _validation.raise_invalid(name, owner, "integers of shape (queries, ids)", came)
    return array


def _check_sizes(has_queries: int, has_items: int, n_queries: int, n_items: int) -> None:
    if has_queries != n_queries:
        _validation.raise_invalid(
            "relevance", "metrics", f"that of {n_queries} queries", has_queries
        )
    if has_items != n_items:
        _validation.raise_invalid(
            "relevance", "metrics", f"that of {n_items} database items", has_items
        )
