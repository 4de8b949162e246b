"""What a data set is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._types import AnyArray, ProgressCallback, SignedIntArray
from bitfold.io import cache
from bitfold.metrics import Relevance, closest_neighbors

_SAME: AnyArray = np.empty((0, 0))
"""Stands for training on the database."""

_WORTH_KEEPING = 1 << 29
"""Pairs of a query and a row from which on their distances are not measured twice."""

_QUERIES = 1000
"""Queries whose neighbors are found at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Vectors to search in, queries, and what tells the right answers.

    Parameters
    ----------
    database, queries
        Vectors, one a row; arrays or memory maps.
    labels, query_labels
        Labels of both, one a row, or several as a matrix (rows, classes) of 0 and 1; None where
        there are none.
    name
        What to call it in tables and figures.
    train
        Vectors to learn from; the database, unless the protocol has others.
    neighbors
        True nearest neighbors that come with the data, one row of ids a query, nearest first; or
        None.

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
    train: AnyArray = field(default_factory=lambda: _SAME)
    neighbors: NDArray[np.integer[Any]] | None = None

    def __post_init__(self) -> None:
        if self.train is _SAME:
            object.__setattr__(self, "train", self.database)
        width = self.database.shape[1]
        for name in ("queries", "train"):
            shape = getattr(self, name).shape
            if shape[1:] != (width,):
                _validation.raise_invalid(
                    name, "Dataset", f"rows of {width} features", f"shape {shape}"
                )
        _check_length(self.labels, "labels", self.database)
        _check_length(self.query_labels, "query_labels", self.queries)
        _check_length(self.neighbors, "neighbors", self.queries)
        if (self.labels is None) != (self.query_labels is None):
            _validation.raise_invalid(
                "labels", "Dataset", "given for both sides or neither", "one side"
            )

    def __repr__(self) -> str:
        rows, width = self.database.shape
        return f"Dataset({self.name}: {rows} x {width}, {len(self.queries)} queries)"

    @cached_property
    def relevance(self) -> Relevance:
        """Which items answer which query: same label, or without labels the closest 2 percent."""
        if self.labels is not None:
            return Relevance.labels(self.query_labels, self.labels)
        return Relevance.neighbors(self.closest())

    def closest(
        self, fraction: float = 0.02, *, progress: ProgressCallback | None = None
    ) -> SignedIntArray:
        """Ids of the rows closest to each query in ℓ2, nearest first: the truth without labels.

        Where that takes long, as with a million rows, the answer is kept in the cache folder and
        found again by the content of the vectors.

        Parameters
        ----------
        fraction
            How many rows are close, as a share of the database; the paper's 2 percent (Sec. 4).
        progress
            Called with (stage, done, total) as the work goes on; None shows a bar on a terminal.
        """
        if len(self.database) * len(self.queries) < _WORTH_KEEPING:
            return closest_neighbors(self.database, self.queries, share=fraction)
        key = cache.digest_of(self.database, self.queries, np.array([fraction]))
        width = closest_neighbors(self.database, self.queries[:1], share=fraction).shape[1]
        with show_progress(progress) as report:
            return cache.kept_rows(
                cache.folder("neighbors") / f"{key}.npy",
                (len(self.queries), width),
                np.int32 if len(self.database) <= np.iinfo(np.int32).max else np.int64,
                lambda rows: closest_neighbors(self.database, self.queries[rows], share=fraction),
                step=_QUERIES,
                report=lambda done, total: report("neighbors", done, total),
            )


def _check_length(side: Any, name: str, rows: AnyArray) -> None:
    if side is not None and len(side) != len(rows):
        _validation.raise_invalid(name, "Dataset", f"one for each of {len(rows)} rows", len(side))


def drawn(n_rows: int, n_queries: int, seed: int, owner: str) -> tuple[Any, Any]:
    """Draw the queries at random; return the numbers of the database's rows, and theirs."""
    why = f"{n_rows - 1}, one less than there are rows"
    _validation.check_integer(n_queries, "n_queries", owner, low=1, high=n_rows - 1, why=why)
    _validation.check_integer(seed, "seed", owner, low=0)
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[n_queries:], order[:n_queries]


def split(X: AnyArray, y: AnyArray, n_queries: int, seed: int, name: str) -> Dataset:
    """Draw the queries at random; the database is the rest, in the order drawn."""
    database, queries = drawn(len(X), n_queries, seed, name)
    return Dataset(X[database], X[queries], y[database], y[queries], name)
