"""Hash functions carried by a base set: a point's reals are the weighted mean of its nearest."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bitfold import _validation
from bitfold._types import Float32Array, Float64Array
from bitfold.embedding import Neighbors
from bitfold.hashers.base.hasher import Hasher
from bitfold.induction import BaseSet, learn_bandwidth
from bitfold.io.rows import Rows, block_length


class BaseSetHasher(Hasher):
    """The signs of Eq. (8): the mean of the k nearest base points' rows, weighted by a Gaussian.

    Attributes
    ----------
    base_set_
        The base set B, relative to ``center_``, one point a row.
    bit_embedding_
        What the signs of weighted means are taken of, one row a base point.
    bandwidth_
        σ of the weights exp(-d²/σ²).
    n_neighbors_
        Base points that carry a point.
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "base_set_": ("m", "n_features_in_"),
        "bit_embedding_": ("m", "n_bits_"),
    }
    _fitted_scalars: ClassVar[dict[str, type]] = {
        **Hasher._fitted_scalars,
        "bandwidth_": float,
        "n_neighbors_": int,
    }

    base_set_: Float32Array
    bit_embedding_: Float32Array
    bandwidth_: float
    n_neighbors_: int

    n_neighbors: int
    bandwidth: float | None

    @property
    def base_points_(self) -> Float64Array:
        """The base set in the coordinates of the data."""
        points: Float64Array = np.add(self.base_set_, self.center_, dtype=np.float64)
        return points

    @property
    def _floats_per_row(self) -> int:
        return self._base.width

    def _embed_block(self, values: Float32Array) -> Float32Array:
        return self._base.induce(values, self.bit_embedding_, self.bandwidth_)

    @property
    def _base(self) -> BaseSet:
        """The base set, ready to be searched; made again when the hasher was fitted again."""
        return self._derive(self.base_set_, lambda points: BaseSet(points, self.n_neighbors_))

    def _check_fitted_state(self) -> None:
        owner = type(self).__name__
        m = len(self.base_set_)
        _validation.check_integer(
            self.n_neighbors_, "n_neighbors_", owner, low=1, high=m, why=f"m = {m}"
        )
        _validation.check_bandwidth(self.bandwidth_, "bandwidth_", owner)

    def _settle_base(self, points: Float32Array, sample: Float32Array) -> None:
        """Fix the base set, how many of it carry a point, and the bandwidth."""
        self._settle_points(points)
        if self.bandwidth is None:
            self.bandwidth_ = learn_bandwidth(self._base.neighbors(sample), len(points))
        else:
            self.bandwidth_ = _validation.check_bandwidth(
                self.bandwidth, "bandwidth", type(self).__name__
            )

    def _settle_points(self, points: Float32Array) -> None:
        """Fix the base set and how many of it carry a point."""
        owner = type(self).__name__
        if len(points) < 2:
            _validation.raise_invalid("base", owner, "at least 2 distinct points", len(points))
        self.base_set_ = np.ascontiguousarray(points)
        self.n_neighbors_ = min(
            _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1), len(points)
        )
        if self.n_neighbors_ < self.n_neighbors:
            warnings.warn(
                f"n_neighbors={self.n_neighbors} is more than the {len(points)} base points; "
                f"all base points will be used for every vector.",
                stacklevel=5,
            )


@dataclass(frozen=True)
class DataGraph:
    """How the training data hang on the base set, for the embeddings that ask (Eq. 12)."""

    hasher: BaseSetHasher
    rows: Rows

    @property
    def bandwidth(self) -> float:
        """σ of W_XB: the mean distance to the farthest of the k base points.

        Not that of induction, where only ratios within a row count: there a point's distance to
        its nearest base point cancels, here it would leave all but the closest points no say.
        """
        near = [np.sqrt(block.sq_distances[:, -1]) for block in self.blocks(at_most=10_000)]
        reach = float(np.concatenate(near).mean())
        return reach if reach > 0 else self.hasher.bandwidth_

    @property
    def k(self) -> int:
        """Nearest base points of a training point."""
        return self.hasher.n_neighbors_

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self, at_most: int | None = None) -> Iterator[Neighbors]:
        """Yield the nearest base points of training points, block by block.

        All of them, or about ``at_most``: every so many blocks, which reads a memory map forward
        and sees every part of data that lie in some order.
        """
        stride = 1 if at_most is None else max(1, len(self.rows) // at_most)
        find = self.hasher._base.neighbors
        for _, found in self.rows.map(
            lambda v, s: find(v),
            block_length(max(self.hasher._floats_per_row, self.rows.n_features)),
            stride=stride,
        ):
            yield Neighbors(*found)
