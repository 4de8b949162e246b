"""What every embedding of the base set shares: its contract and its checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, FloatingArray, Int32Array, Seed, StepCallback


class Neighbors(NamedTuple):
    """For a block of training points: their nearest base points, nearest first."""

    indices: Int32Array
    sq_distances: FloatingArray


class DataGraph(Protocol):
    """How the training data hang on the base set; read only by embeddings that need it."""

    @property
    def bandwidth(self) -> float:
        """σ of the weights W_XB between training points and base set."""

    @property
    def k(self) -> int:
        """How many nearest base points a training point has."""

    def __len__(self) -> int:
        """How many training points there are."""

    def blocks(self, at_most: int | None = None) -> Iterator[Neighbors]:
        """Yield the k nearest base points of training points, block by block.

        All of them, or about ``at_most``, spread evenly.
        """


class Given(NamedTuple):
    """What a method may use beside the base set."""

    rng: np.random.Generator
    data: DataGraph | None
    on_step: StepCallback | None


class Limit(NamedTuple):
    """The most dimensions a method can give, and why, as in ``m - 1 = 399``."""

    dimensions: int
    why: str


class Embedding(BaseEstimator, ABC):
    """Step 2 of Alg. 1: place the base set in n_components dimensions.

    A subclass gives ``_embed`` and, where dimensions can run out, ``limit``.
    """

    def embed(
        self,
        base: Any,
        n_components: int,
        *,
        rng: Seed = None,
        data: DataGraph | None = None,
        on_step: StepCallback | None = None,
    ) -> Float32Array:
        """Embed the base points.

        Parameters
        ----------
        base
            The base set, one point a row.
        n_components
            Dimensions of the embedding: the code length.
        rng
            Generator or seed.
        data
            How the training data hang on the base set, for the methods that use it.
        on_step
            Called with (done, total) as the work goes on.

        Returns
        -------
        One row per base point, centered on the origin, as Eq. (9) assumes.
        """
        owner = type(self).__name__
        points = _validation.check_matrix(base, owner, name="base", min_rows=2)
        _validation.check_finite(points, owner, name="base")
        points = np.ascontiguousarray(points, np.float32)
        limit = self.limit(*points.shape)
        high, why = limit or (None, "")
        _validation.check_integer(n_components, "n_bits", owner, low=1, high=high, why=why)
        Y = self._embed(points, n_components, Given(_validation.make_generator(rng), data, on_step))
        Y = np.asarray(Y, np.float64)
        return np.ascontiguousarray(Y - Y.mean(axis=0), np.float32)

    def limit(self, m: int, n_features: int) -> Limit | None:
        """Return the most dimensions there are for m points of n_features; None: no limit."""
        return None

    @abstractmethod
    def _embed(self, base: Float32Array, n_components: int, given: Given) -> AnyArray:
        """Place checked points; ``embed`` centers what this returns."""
