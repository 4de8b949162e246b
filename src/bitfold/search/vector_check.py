"""Exact distances of pairs, which confirm or reject what codes found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, BoolArray, Float32Array, Ids
from bitfold.errors import DataError
from bitfold.search.rerank import METRICS

_FLOATS_PER_BLOCK = 1 << 21
"""Number of floats of one side of the pairs that are measured together: 8 MB."""

_OWNER = "VectorCheck"


@dataclass(frozen=True)
class VectorCheck:
    """Accept pairs of items whose original vectors are near.

    Parameters
    ----------
    vectors
        Original vectors, an array or a memory map; row i belongs to id i.
    max_distance
        The largest distance of a pair that is accepted.
    metric
        "l2" or "cosine" (1 - cosine).
    other_vectors
        Original vectors of the second items of the pairs, if they belong to another index.

    Examples
    --------
    >>> check = VectorCheck(np.array([[0.0], [3.0], [4.0]]), max_distance=1.5)
    >>> check.measure(np.array([0, 1]), np.array([1, 2])).tolist()
    [3.0, 1.0]
    >>> check.accepts(np.array([0, 1]), np.array([1, 2])).tolist()
    [False, True]
    """

    vectors: Any
    max_distance: float
    metric: str = "l2"
    other_vectors: Any = None

    def measure(self, first: Ids, second: Ids) -> Float32Array:
        """Return the exact distance of each pair.

        Parameters
        ----------
        first, second
            Ids of the items of each pair.

        Returns
        -------
        One distance per pair.

        Raises
        ------
        ParameterError
            If ``metric`` is unknown, ``max_distance`` is negative, or the vectors of the two sides
            differ in length.
        DataError
            If there is no row for an id, or a row is not finite.
        """
        left, right = self._sides()
        for side, ids in (left, first), (right, second):
            _check_rows(ids, len(side))
        out = np.empty(len(first), np.float32)
        for part in _split(len(first), left.shape[1]):
            rows = _read_rows(left, first[part]), _read_rows(right, second[part])
            out[part] = METRICS[self.metric](rows[1][:, None], rows[0])[:, 0]
        return out

    def accepts(self, first: Ids, second: Ids) -> BoolArray:
        """Return which pairs are within ``max_distance``.

        Parameters
        ----------
        first, second
            Ids of the items of each pair.

        Returns
        -------
        One value per pair.

        Raises
        ------
        ParameterError
            If ``metric`` is unknown, ``max_distance`` is negative, or the vectors of the two sides
            differ in length.
        DataError
            If there is no row for an id, or a row is not finite.
        """
        return self.measure(first, second) <= np.float32(self.max_distance)

    def read_first(self, ids: Ids) -> Float32Array:
        """Read the original vectors of first items.

        Parameters
        ----------
        ids
            Ids of items.

        Returns
        -------
        One row per id.

        Raises
        ------
        ParameterError
            If ``metric`` is unknown, or ``max_distance`` is negative.
        DataError
            If there is no row for an id, or a row is not finite.
        """
        vectors, _ = self._sides()
        _check_rows(ids, len(vectors))
        return _read_rows(vectors, ids)

    def _sides(self) -> tuple[AnyArray, AnyArray]:
        """Return the vectors of the first and of the second items."""
        _validation.check_choice(self.metric, "metric", _OWNER, ("l2", "cosine"))
        if not float(self.max_distance) >= 0:
            _validation.raise_invalid("max_distance", _OWNER, "at least 0", self.max_distance)
        left = _validation.check_matrix(self.vectors, _OWNER, name="vectors")
        if self.other_vectors is None:
            return left, left
        right = _validation.check_matrix(self.other_vectors, _OWNER, name="other_vectors")
        if right.shape[1] != left.shape[1]:
            needed, got = f"of {left.shape[1]} columns, like vectors", f"{right.shape[1]}"
            _validation.raise_invalid("other_vectors", _OWNER, needed, got)
        return left, right


def _check_rows(ids: Ids, n_rows: int) -> None:
    missing = (ids < 0) | (ids >= n_rows)
    if missing.any():
        raise DataError(f"There are {n_rows:,} vectors, but none for id {ids[missing][0]}.")


def _split(n_pairs: int, n_features: int) -> Iterator[slice]:
    step = max(1, _FLOATS_PER_BLOCK // max(n_features, 1))
    return (slice(i, min(i + step, n_pairs)) for i in range(0, n_pairs, step))


def _read_rows(vectors: AnyArray, ids: Ids) -> Float32Array:
    """Read rows once each, in ascending order: ids repeat, and memory maps are read forward."""
    needed, positions = np.unique(ids, return_inverse=True)
    rows = np.asarray(vectors[needed], np.float32)
    _validation.check_finite(rows, _OWNER, name="vectors", rows=needed)
    return rows[positions]
