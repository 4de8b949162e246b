"""The contract of embeddings, and the base class of the stochastic ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from bitfold import _validation
from bitfold._threads import serial_blas
from bitfold._types import AnyArray, Float32Array, Seed, StepCallback
from bitfold.embedding.perplexity import perplexity_affinities
from bitfold.embedding.stochastic import (
    MAX_CLEAN_NOISE,
    DescentResult,
    Schedule,
    affinity_rule,
    noise_level,
)
from bitfold.neighbors import NeighborBlocks

MIN_POINTS_PER_BASE = 5
"""With at least this many training points per base point, affinities are counted in the data."""

MAX_POINTS_PER_BASE = 64
"""Number of training points per base point to count; more hardly change the affinities ..."""

MIN_COUNTED_POINTS = 1 << 17
"""... but at least this number of points is counted, because it takes little time."""

DEFAULT_PERPLEXITY = 5.0
"""Perplexity of affinities by distance, if there are too few training points to count."""


class EmbeddingContext(NamedTuple):
    """What a method may use in addition to the base set.

    Examples
    --------
    >>> context = EmbeddingContext(np.random.default_rng(0), neighbors=None, on_step=None)
    >>> context.rng.standard_normal(2).shape
    (2,)
    """

    rng: np.random.Generator
    neighbors: NeighborBlocks | None
    on_step: StepCallback | None


class MaxComponents(NamedTuple):
    """The largest number of components of a method, and its reason.

    Examples
    --------
    >>> from bitfold.embedding import PCA
    >>> PCA().max_components(n_base_points=400, n_features=64)
    MaxComponents(n_components=64, reason='n_features=64')
    """

    n_components: int
    reason: str


class Embedding(BaseEstimator, ABC):
    """Step 2 of Alg. 1: embed the base set in n_components dimensions.

    A subclass implements ``_embed`` and, if the number of components is limited,
    ``max_components``.

    Examples
    --------
    >>> class RandomProjection(Embedding):
    ...     def _embed(self, base, n_components, context):
    ...         return base @ context.rng.standard_normal((base.shape[1], n_components))
    >>> RandomProjection().embed([[0.0, 1.0], [2.0, 3.0]], 8, rng=0).shape
    (2, 8)
    """

    @abstractmethod
    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        """Return one row per base point; ``embed`` has checked the input and centers the result."""

    @serial_blas()
    def embed(
        self,
        base: Any,
        n_components: int,
        *,
        rng: Seed = None,
        neighbors: NeighborBlocks | None = None,
        on_step: StepCallback | None = None,
    ) -> Float32Array:
        """Embed the base set.

        Parameters
        ----------
        base
            The base set, one row per base point.
        n_components
            Dimensions of the embedding: the number of bits.
        rng
            Seed or generator.
        neighbors
            The nearest base points of the training rows, for the methods that use them.
        on_step
            Called with (done, total).

        Returns
        -------
        One row per base point, centered on the origin as Eq. (9) assumes.

        Raises
        ------
        ParameterError
            If a parameter is not valid, or the method has fewer than ``n_components`` components.
        DataError
            If the base set is not a finite matrix of at least 2 rows.
        """
        owner = type(self).__name__
        points = _validation.check_matrix(base, owner, name="base", min_rows=2)
        _validation.check_finite(points, owner, name="base")
        points = np.ascontiguousarray(points, np.float32)
        high, why = self.max_components(*points.shape) or (None, "")
        _validation.check_integer(n_components, "n_bits", owner, low=1, high=high, why=why)
        context = EmbeddingContext(_validation.make_generator(rng), neighbors, on_step)
        Y = np.asarray(self._embed(points, n_components, context), np.float64)
        return np.ascontiguousarray(Y - Y.mean(axis=0), np.float32)

    def max_components(self, n_base_points: int, n_features: int) -> MaxComponents | None:
        """Return the largest number of components that the method can compute.

        Parameters
        ----------
        n_base_points
            Size of the base set.
        n_features
            Number of features.

        Returns
        -------
        The number and its reason; None if there is no limit.
        """
        return None


class SpectralEmbedding(Embedding):
    """An embedding by eigenvectors of a matrix between base points, except the constant one.

    Examples
    --------
    >>> from bitfold.embedding import LLE
    >>> LLE().max_components(n_base_points=400, n_features=64).n_components
    399
    """

    def max_components(self, n_base_points: int, n_features: int) -> MaxComponents:
        """Return the number of eigenvectors, except the constant one.

        Parameters
        ----------
        n_base_points
            Size of the base set.
        n_features
            Number of features.

        Returns
        -------
        The number and its reason.
        """
        return MaxComponents(n_base_points - 1, f"base points - 1 = {n_base_points - 1}")


class StochasticEmbedding(Embedding):
    """An embedding by descent along affinities. A subclass implements ``_minimizer``.

    Parameters
    ----------
    perplexity
        Effective number of neighbors of a base point by distance, as in the paper. None counts
        affinities in the training data, or uses a perplexity of 5 if there are fewer than 5
        training points per base point.
    max_iter
        Maximum number of iterations; fewer if the cost stops falling.
    learning_rate
        Step size of the descent; None is the number of base points.

    Examples
    --------
    >>> from bitfold.embedding import SNE
    >>> issubclass(SNE, StochasticEmbedding)
    True
    """

    def __init__(
        self,
        perplexity: float | None = None,
        max_iter: int = 400,
        learning_rate: float | None = None,
    ) -> None:
        self.perplexity = perplexity
        self.max_iter = max_iter
        self.learning_rate = learning_rate

    @abstractmethod
    def _minimizer(
        self, base: Float32Array, points_per_base: float | None
    ) -> partial[DescentResult]:
        """Return the function that minimizes the cost of the method for a base set.

        It is called with affinities, the number of components, a generator and a schedule.
        ``points_per_base`` is None if affinities were not counted in the training data, or the
        data are noisy.
        """

    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        schedule = replace(self._check_schedule(n_components), on_step=context.on_step)
        m, neighbors = len(base), context.neighbors
        if neighbors is not None and self._can_count(neighbors, m):
            blocks = list(neighbors.sample(max(MAX_POINTS_PER_BASE * m, MIN_COUNTED_POINTS)))
            is_noisy = noise_level(blocks, base) > MAX_CLEAN_NOISE
            points_per_base = None if is_noisy else len(neighbors) / m
            P = affinity_rule(points_per_base)(blocks, m)
        else:
            points_per_base = None
            P = self._distance_affinities(base, n_components)
        minimize = self._minimizer(base, points_per_base)
        return minimize(P, n_components, context.rng, schedule).Y

    def _check_schedule(self, n_components: int) -> Schedule:
        """Return the checked course of the descent."""
        owner, rate = type(self).__name__, self.learning_rate
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=1)
        if rate is not None:
            rate = _validation.check_positive(rate, "learning_rate", owner)
        return Schedule(max_iter, rate)

    def _distance_affinities(self, base: Float32Array, n_components: int) -> csr_array:
        """Return the affinities of Eq. (11)."""
        return perplexity_affinities(base, self._check_perplexity())

    def _can_count(self, neighbors: NeighborBlocks, m: int) -> bool:
        enough = neighbors.k >= 2 and len(neighbors) >= MIN_POINTS_PER_BASE * m
        return enough and self.perplexity is None

    def _check_perplexity(self) -> float:
        owner = type(self).__name__
        value = DEFAULT_PERPLEXITY if self.perplexity is None else self.perplexity
        perplexity = _validation.check_positive(value, "perplexity", owner)
        if perplexity < 1:
            _validation.raise_invalid("perplexity", owner, "at least 1", value)
        return perplexity
