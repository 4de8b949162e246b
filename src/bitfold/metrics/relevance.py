"""Relevance: which items of the database are relevant to which query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _class_labels, _validation
from bitfold._types import AnyArray, BoolArray, Ids, SignedIntArray
from bitfold.errors import DataError

_MAX_TABLE_SIZE = 1 << 16
"""Largest range of integer labels that are looked up in a table."""


class QueryGroup(NamedTuple):
    """Queries that have the same relevant items, and these items, ascending."""

    queries: Ids
    items: Ids


@dataclass(frozen=True)
class Relevance(ABC):
    """Which items of the database are relevant to which query.

    Queries with the same relevant items form a group. The items of a group are listed when they
    are needed, so memory does not grow with queries × database.

    Attributes
    ----------
    group_of
        Number of the group of each query.
    n_items
        Number of items in the database; None accepts any number above the largest id.

    Examples
    --------
    >>> relevance = Relevance.from_labels(["a", "b"], ["a", "b", "a"])
    >>> relevance.items(relevance.group_of[0])
    array([0, 2])
    """

    group_of: Ids
    n_items: int | None

    @staticmethod
    def from_labels(query_labels: ArrayLike, labels: ArrayLike) -> Relevance:
        """Make items relevant that share a label with the query.

        Parameters
        ----------
        query_labels, labels
            One label per row; or several, as a matrix (rows, classes) of 0 and 1.

        Returns
        -------
        The relevance of these queries and items.

        Raises
        ------
        ParameterError
            If the labels are not valid, or the matrices have different widths.

        Examples
        --------
        >>> Relevance.from_labels([[1, 1]], [[0, 1], [0, 0], [1, 0]]).items(0)
        array([0, 2])
        """
        n_queries, n_items = (
            len(np.atleast_1d(np.asarray(side))) for side in (query_labels, labels)
        )
        return relate_by_labels(query_labels, labels, n_queries, n_items)

    @staticmethod
    def from_neighbors(ids: ArrayLike) -> Relevance:
        """Make listed items relevant, such as those of :func:`closest_neighbors`.

        Parameters
        ----------
        ids
            One row per query, in any order; negative ids are padding.

        Returns
        -------
        The relevance of these queries.

        Raises
        ------
        ParameterError
            If ``ids`` is not a matrix of integers.

        Examples
        --------
        >>> Relevance.from_neighbors([[4, 2, -1]]).items(0)
        array([2, 4])
        """
        lists = check_id_lists(ids, "ids", "Relevance.from_neighbors")
        return _NeighborLists(np.arange(len(lists)), None, lists)

    @abstractmethod
    def items(self, group: int) -> Ids:
        """Return the relevant items of a group of queries.

        Parameters
        ----------
        group
            Number of the group.

        Returns
        -------
        Ids, unique and ascending.
        """

    def check_sizes(self, n_queries: int, n_items: int) -> None:
        """Raise unless the relevance is for these numbers of queries and items.

        Parameters
        ----------
        n_queries
            Number of queries.
        n_items
            Number of items in the database.

        Raises
        ------
        DataError
            If the relevance is for another number.
        """
        n_own = len(self.group_of)
        if n_own != n_queries:
            raise DataError(f"The relevance is for {n_own} queries, but there are {n_queries}.")
        if self.n_items not in (None, n_items):
            raise DataError(
                f"The relevance is for {self.n_items} database items, but there are {n_items}."
            )

    def groups(self, size: int) -> Iterator[QueryGroup]:
        """Iterate over all queries, grouped by their relevant items.

        Parameters
        ----------
        size
            Maximum number of queries per group; larger groups are split.

        Yields
        ------
        Queries with their relevant items.
        """
        order = np.argsort(self.group_of, kind="stable")
        starts = np.flatnonzero(np.diff(self.group_of[order], prepend=-1))
        for queries in np.split(order, starts[1:]):
            if len(queries):
                items = self.items(int(self.group_of[queries[0]]))
                for i in range(0, len(queries), size):
                    yield QueryGroup(queries[i : i + size], items)


@dataclass(frozen=True)
class _SingleLabels(Relevance):
    """Items sorted by label, so that those of one label are a slice."""

    order: Ids
    starts: Ids

    def items(self, group: int) -> Ids:
        return self.order[self.starts[group] : self.starts[group + 1]]


@dataclass(frozen=True)
class _LabelSets(Relevance):
    """Distinct label sets of the queries, and the items that have each label (rows: labels)."""

    sets: BoolArray
    has_label: BoolArray

    def items(self, group: int) -> Ids:
        return np.flatnonzero(self.has_label[self.sets[group]].any(axis=0))


@dataclass(frozen=True)
class _NeighborLists(Relevance):
    """One list of ids per query."""

    ids: SignedIntArray

    def items(self, group: int) -> Ids:
        # Sorting 20,000 ids takes 0.2 ms; np.unique, which hashes them, several times as long.
        ids = np.sort(self.ids[group]).astype(np.int64)
        is_new = ids >= 0
        is_new[1:] &= ids[1:] != ids[:-1]
        return ids[is_new]

    def check_sizes(self, n_queries: int, n_items: int) -> None:
        super().check_sizes(n_queries, n_items)
        if self.ids.size and self.ids.max() >= n_items:
            requirement = f"below the number of database items, {n_items}"
            _validation.raise_invalid(
                "ids", "Relevance.from_neighbors", requirement, self.ids.max()
            )


def relate_by_labels(
    query_labels: ArrayLike, labels: ArrayLike, n_queries: int, n_items: int
) -> Relevance:
    """Return the relevance by labels of known numbers of queries and items."""
    if max(_count_classes(query_labels), _count_classes(labels)) > 1:
        return _relate_by_label_sets(query_labels, labels, n_queries, n_items)
    q = _class_labels.check_labels(query_labels, n_queries, "the queries")
    d = _class_labels.check_labels(labels, n_items, "the database")
    # One array, so that both sides have one type.
    both = np.concatenate([q, d])
    classes, group_of = np.unique(both[:n_queries], return_inverse=True)
    number = _number_labels(both[n_queries:], classes)
    # 16-bit integers are sorted in linear time.
    narrow = np.uint16 if len(classes) < 1 << 16 else np.int64
    order = np.argsort(number.astype(narrow), kind="stable")
    starts = np.cumsum([0, *np.bincount(number, minlength=len(classes))[: len(classes)]])
    return _SingleLabels(group_of, n_items, order, starts)


def to_relevance(
    relevance: Relevance | ArrayLike, labels: ArrayLike | None, n_queries: int, n_items: int
) -> Relevance:
    """Return a relevance that is given as such, or as labels of both sides; check its sizes."""
    if not isinstance(relevance, Relevance):
        if labels is None:
            requirement = "a Relevance, or labels of the queries if labels is given too"
            _validation.raise_invalid("relevance", "metrics", requirement, type(relevance).__name__)
        return relate_by_labels(relevance, labels, n_queries, n_items)
    if labels is not None:
        requirement = "None if relevance is a Relevance"
        _validation.raise_invalid("labels", "metrics", requirement, type(labels).__name__)
    relevance.check_sizes(n_queries, n_items)
    return relevance


def _number_labels(labels: AnyArray, classes: AnyArray) -> Ids:
    """Return the position of each label in the sorted classes; ``len(classes)`` if unknown."""
    if _has_small_range(classes):
        # Looking up is several times as fast as searching.
        low, wide = classes[0], np.uint64 if classes.dtype.kind == "u" else np.int64
        table = np.full(int(classes[-1]) - int(low) + 1, len(classes))
        table[classes.astype(wide) - wide(low)] = np.arange(len(classes))
        is_within = (labels >= low) & (labels <= classes[-1])
        cells = np.where(is_within, labels, low).astype(wide) - wide(low)
        return np.where(is_within, table[cells], len(classes))
    positions = np.searchsorted(classes, labels)
    is_known = positions < len(classes)
    is_known[is_known] = classes[positions[is_known]] == labels[is_known]
    return np.where(is_known, positions, len(classes))


def _has_small_range(classes: AnyArray) -> bool:
    """Return whether sorted classes are integers that can be positions in a table."""
    is_integer = classes.dtype.kind in "iu" and len(classes) > 0
    return is_integer and int(classes[-1]) - int(classes[0]) < _MAX_TABLE_SIZE


def _relate_by_label_sets(
    query_labels: ArrayLike, labels: ArrayLike, n_queries: int, n_items: int
) -> Relevance:
    q = _check_indicators(query_labels, n_queries, "query_labels")
    d = _check_indicators(labels, n_items, "labels")
    if q.shape[1] != d.shape[1]:
        requirement = f"a matrix of {d.shape[1]} classes, like labels"
        _validation.raise_invalid("query_labels", "Relevance.from_labels", requirement, q.shape[1])
    sets, group_of = np.unique(q, axis=0, return_inverse=True)
    return _LabelSets(group_of.reshape(-1), n_items, sets, np.ascontiguousarray(d.T))


def _check_indicators(labels: ArrayLike, n_rows: int, name: str) -> BoolArray:
    """Return a matrix (rows, classes) of labels as booleans."""
    owner = "Relevance.from_labels"
    array = np.asarray(labels)
    if array.ndim != 2 or len(array) != n_rows:
        requirement = f"a matrix ({n_rows}, classes), like the other labels"
        _validation.raise_invalid(name, owner, requirement, f"shape {array.shape}")
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        _validation.raise_invalid(name, owner, "0 or 1 for each class", "other values")
    return array.astype(bool, copy=False)


def _count_classes(labels: ArrayLike) -> int:
    shape = np.shape(labels)
    return shape[1] if len(shape) == 2 else 1


def check_id_lists(ids: ArrayLike, name: str, owner: str) -> SignedIntArray:
    """Return ids as a matrix of integers, one row per query."""
    array = np.asarray(ids)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        got = f"{array.dtype} of shape {array.shape}"
        _validation.raise_invalid(name, owner, "integers of shape (queries, ids)", got)
    return array
