"""Dataset: vectors to search, queries, and the right answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._types import AnyArray, Int64Array, ProgressCallback, SignedIntArray
from bitfold.errors import DataError
from bitfold.io.cache import cache_rows, hash_arrays, make_cache_folder
from bitfold.metrics import Relevance, closest_neighbors

_TRAIN_ON_DATABASE: AnyArray = np.empty((0, 0))
"""Default of ``train``, replaced by the database."""

_MIN_CACHED_PAIRS = 1 << 29
"""Minimum number of pairs (query, row) for which the nearest rows are cached."""

_QUERIES_PER_BLOCK = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Vectors to search, queries, and the right answers.

    Parameters
    ----------
    database, queries
        One vector per row: arrays or memory maps.
    labels, query_labels
        One label per row, or a matrix (rows, classes) of 0 and 1 if rows have several labels; None
        if there are none.
    name
        Name in tables and figures.
    train
        Vectors to learn from; the database by default.
    neighbors
        Known nearest neighbors: one row of ids per query, nearest first; or None.

    Raises
    ------
    DataError
        If the numbers of rows or features do not match, or only one side has labels.

    Examples
    --------
    >>> from bitfold import datasets
    >>> datasets.digits()
    Dataset(digits: 1497 x 64, 300 queries)
    """

    database: AnyArray
    queries: AnyArray
    labels: Any = None
    query_labels: Any = None
    name: str = "data"
    train: AnyArray = field(default_factory=lambda: _TRAIN_ON_DATABASE)
    neighbors: NDArray[np.integer[Any]] | None = None

    def __post_init__(self) -> None:
        if self.train is _TRAIN_ON_DATABASE:
            object.__setattr__(self, "train", self.database)
        n_features = self.database.shape[1]
        for name in ("queries", "train"):
            shape = getattr(self, name).shape
            if shape[1:] != (n_features,):
                raise DataError(
                    f"The {name} of a Dataset must have {n_features} features, as the database "
                    f"does, got shape {shape}."
                )
        _check_length(self.labels, "labels", self.database)
        _check_length(self.query_labels, "query_labels", self.queries)
        _check_length(self.neighbors, "neighbors", self.queries)
        if (self.labels is None) != (self.query_labels is None):
            raise DataError("A Dataset needs labels and query_labels, or neither.")

    def __repr__(self) -> str:
        n_rows, n_features = self.database.shape
        return f"Dataset({self.name}: {n_rows} x {n_features}, {len(self.queries)} queries)"

    @cached_property
    def relevance(self) -> Relevance:
        """The right answers: rows with the same label, or without labels the closest 2 percent."""
        if self.labels is not None:
            return Relevance.from_labels(self.query_labels, self.labels)
        return Relevance.from_neighbors(self.closest())

    def closest(
        self, fraction: float = 0.02, *, progress: ProgressCallback | None = None
    ) -> SignedIntArray:
        """Return the ids of the rows closest to each query in ℓ2, nearest first.

        If that takes long, as with a million rows, the result is kept in the cache folder.

        Parameters
        ----------
        fraction
            Fraction of the database to return; 2 percent in the paper (Sec. IV).
        progress
            Called with (stage, done, total).

        Returns
        -------
        One row of ids per query.
        """
        if len(self.database) * len(self.queries) < _MIN_CACHED_PAIRS:
            return closest_neighbors(self.database, self.queries, share=fraction)
        key = hash_arrays(self.database, self.queries, np.array([fraction]))
        width = closest_neighbors(self.database, self.queries[:1], share=fraction).shape[1]
        return cache_rows(
            make_cache_folder("neighbors") / f"{key}.npy",
            (len(self.queries), width),
            np.int32 if len(self.database) <= np.iinfo(np.int32).max else np.int64,
            lambda rows: closest_neighbors(self.database, self.queries[rows], share=fraction),
            step=_QUERIES_PER_BLOCK,
            stage="neighbors",
            progress=progress,
        )


def _check_length(values: Any, name: str, rows: AnyArray) -> None:
    if values is not None and len(values) != len(rows):
        raise DataError(
            f"The {name} of a Dataset must have {len(rows)} rows, one per vector, "
            f"got {len(values)}."
        )


class QuerySplit(NamedTuple):
    """Numbers of the rows of the database and of the queries.

    Examples
    --------
    >>> database, queries = QuerySplit(np.array([2, 0]), np.array([1]))
    >>> queries.tolist()
    [1]
    """

    database: Int64Array
    queries: Int64Array


def draw_queries(
    n_rows: int, n_queries: int, seed: int = 0, owner: str = "draw_queries"
) -> QuerySplit:
    """Choose queries at random; the other rows are the database, in random order.

    Parameters
    ----------
    n_rows
        Number of rows.
    n_queries
        Number of queries.
    seed
        Seed of the random order.
    owner
        Name of the caller, for error messages.

    Returns
    -------
    The numbers of the rows of both parts.

    Raises
    ------
    ParameterError
        If there are not fewer queries than rows.

    Examples
    --------
    >>> database, queries = draw_queries(5, 2)
    >>> len(database), len(queries)
    (3, 2)
    """
    limit = f"{n_rows - 1}, one fewer than the number of rows"
    _validation.check_integer(n_queries, "n_queries", owner, low=1, high=n_rows - 1, why=limit)
    _validation.check_integer(seed, "seed", owner, low=0)
    order = np.random.default_rng(seed).permutation(n_rows)
    return QuerySplit(order[n_queries:], order[:n_queries])


def split_dataset(
    X: AnyArray, y: AnyArray, n_queries: int, seed: int = 0, name: str = "data"
) -> Dataset:
    """Choose queries at random; the other rows are the database, in random order.

    Parameters
    ----------
    X
        One vector per row.
    y
        One label per row.
    n_queries
        Number of queries.
    seed
        Seed of the random order.
    name
        Name of the data set.

    Returns
    -------
    The data set.

    Raises
    ------
    ParameterError
        If there are not fewer queries than rows.

    Examples
    --------
    >>> split_dataset(np.eye(5), np.arange(5), n_queries=2, name="units")
    Dataset(units: 3 x 5, 2 queries)
    """
    database, queries = draw_queries(len(X), n_queries, seed, name)
    return Dataset(X[database], X[queries], y[database], y[queries], name)


def slice_queries(n_queries: int | None, n_available: int, owner: str) -> slice:
    """Return the slice of the first ``n_queries`` queries; None takes all."""
    if n_queries is None:
        return slice(n_available)
    return slice(_validation.check_integer(n_queries, "n_queries", owner, low=1, high=n_available))
