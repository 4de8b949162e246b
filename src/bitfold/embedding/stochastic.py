"""What t-SNE, SNE and the elastic embedding share: affinities, then descent."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._types import Float32Array
from bitfold.embedding import descent
from bitfold.embedding.affinity import counted_affinities, perplexity_affinities
from bitfold.embedding.base import DataGraph, Embedding, Given, Neighbors

Minimize = Callable[[csr_array, int, np.random.Generator, descent.Schedule], descent.Descent]


COUNT_FROM, COUNT_SHARPLY, COUNT_SURELY, COUNT_ENOUGH = 5, 15, 50, 256
"""Training points a base point: from which on the graph is counted, from which on its counts need
no smoothing, from which on small differences between them are real, and after which no more are
looked at."""

smoothly_counted = partial(counted_affinities, n_neighbors=40, power=1.0, steps=3)
"""How a graph is counted where there are few points: their neighbors' neighbors tell more."""

sharply_counted = partial(counted_affinities, power=2.0)
surely_counted = counted_affinities
"""How it is counted where there are enough, and where there are many."""

PERPLEXITY = 5.0
"""Of the base set's own distances, where the graph cannot be counted."""


def how_counted(points_each: float) -> Callable[[Iterable[Neighbors], int], csr_array]:
    """Return how a graph is counted with so many training points a base point."""
    if points_each < COUNT_SHARPLY:
        return smoothly_counted
    return sharply_counted if points_each < COUNT_SURELY else surely_counted


class Stochastic(Embedding):
    """An embedding by descent along affinities; a subclass gives ``_minimizer``."""

    def __init__(
        self,
        perplexity: float | None = None,
        max_iter: int = 500,
        learning_rate: float | None = None,
    ) -> None:
        self.perplexity = perplexity
        self.max_iter = max_iter
        self.learning_rate = learning_rate

    def _embed(self, base: Float32Array, n_components: int, given: Given) -> Float32Array:
        owner = type(self).__name__
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=1)
        rate = self.learning_rate
        if rate is not None:
            rate = _validation.check_positive(rate, "learning_rate", owner)
        m, data = len(base), given.data
        points_each = None if data is None else self._points_each(data, m)
        if data is None or points_each is None:
            P = self._by_distance(base)
        else:
            P = how_counted(points_each)(data.blocks(at_most=COUNT_ENOUGH * m), m)
        schedule = descent.Schedule(max_iter, rate, on_step=given.on_step)
        return self._minimizer(m, points_each)(P, n_components, given.rng, schedule).Y

    def _points_each(self, data: DataGraph, m: int) -> float | None:
        """Return the training points a base point that the graph is counted with.

        None where they are too few, or a perplexity was asked for.
        """
        countable = data.k >= 2 and len(data) >= COUNT_FROM * m
        return len(data) / m if countable and self.perplexity is None else None

    def _by_distance(self, base: Float32Array) -> csr_array:
        owner = type(self).__name__
        asked = PERPLEXITY if self.perplexity is None else self.perplexity
        perplexity = _validation.check_positive(asked, "perplexity", owner)
        if perplexity < 1:
            _validation.raise_invalid("perplexity", owner, "at least 1", self.perplexity)
        return perplexity_affinities(base, perplexity)

    @abstractmethod
    def _minimizer(self, m: int, points_each: float | None) -> Minimize:
        """Return what minimizes the method's cost for m base points.

        ``points_each`` are the training points of one, if the graph was counted with them.
        """
