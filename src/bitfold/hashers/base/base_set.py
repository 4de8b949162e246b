"""Hash functions on a base set: the signs of the weighted mean of the nearest base points."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bitfold import _validation
from bitfold._types import Float32Array, Float64Array
from bitfold.hashers.base.hasher import Hasher
from bitfold.induction import induce
from bitfold.neighbors import NearestBasePoints


class BaseSetHasher(Hasher):
    """The signs of Eq. (8), the Gaussian-weighted mean over the k nearest base points.

    A subclass chooses a base set (:mod:`bitfold.base_set`), finds the nearest base points of the
    training rows (:mod:`bitfold.neighbors`), and learns one row of reals per base point. Its
    ``_learn`` returns a dict of the attributes below.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    base_set_
        The base set, relative to ``center_``, one row per base point; along ``directions_`` if
        there are any.
    directions_
        Principal directions that rows are projected onto, one per row. None, the default, compares
        all features.
    bit_embedding_
        Reals of the base points; the signs of their weighted means are the bits.
    bandwidth_
        σ of the weights exp(-d²/σ²).
    n_neighbors_
        Number of nearest base points that determine a code.

    Examples
    --------
    Codes of the nearest base point, which are random:

    >>> import numpy as np
    >>> from bitfold.base_set import RandomBase
    >>> class RandomCells(BaseSetHasher):
    ...     def _learn(self, rows, y, progress):
    ...         rng = np.random.default_rng(0)
    ...         points = RandomBase(10).choose(rows, rng=rng).points
    ...         reals = rng.standard_normal((len(points), 16)).astype(np.float32)
    ...         return {
    ...             "n_bits_": 16,
    ...             "base_set_": points,
    ...             "bit_embedding_": reals,
    ...             "bandwidth_": 1.0,
    ...             "n_neighbors_": 1,
    ...         }
    >>> X = np.random.default_rng(1).random((100, 3))
    >>> RandomCells().fit(X).encode(X)
    Codes(100 x 16 bits)
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "base_set_": ("m", "width"),
        "directions_": ("width", "n_features_in_"),
        "bit_embedding_": ("m", "n_bits_"),
    }
    _fitted_scalars: ClassVar[dict[str, type]] = {
        **Hasher._fitted_scalars,
        "bandwidth_": float,
        "n_neighbors_": int,
    }

    _optional_arrays: ClassVar[frozenset[str]] = frozenset({"directions_"})

    base_set_: Float32Array
    directions_: Float32Array | None = None
    bit_embedding_: Float32Array
    bandwidth_: float
    n_neighbors_: int

    @property
    def base_points_(self) -> Float64Array:
        """The base set in the coordinates of the rows, after scaling."""
        points = self.base_set_ if self.directions_ is None else self.base_set_ @ self.directions_
        return np.add(points, self.center_, dtype=np.float64)

    @property
    def nearest_base_points(self) -> NearestBasePoints:
        """The base set, indexed for finding nearest base points."""
        return self._derive(
            "nearest",
            lambda: NearestBasePoints(self.base_set_, self.n_neighbors_, self.directions_),
        )

    @property
    def _floats_per_row(self) -> int:
        return self.nearest_base_points.floats_per_row

    def _embed_block(self, values: Float32Array) -> Float32Array:
        neighbors = self.nearest_base_points.find(values)
        return induce(neighbors, self.bit_embedding_, self.bandwidth_)

    def _check_n_neighbors(self) -> None:
        owner, m = type(self).__name__, len(self.base_set_)
        _validation.check_integer(
            self.n_neighbors_, "n_neighbors_", owner, low=1, high=m, why=f"m = {m}"
        )

    def _check_fitted_state(self) -> None:
        self._check_n_neighbors()
        _validation.check_bandwidth(self.bandwidth_, "bandwidth_", type(self).__name__)
        if self.directions_ is None and self.base_set_.shape[1] != self.n_features_in_:
            raise ValueError(f"array base_set_ has shape {self.base_set_.shape}")
