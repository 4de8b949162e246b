"""What t-SNE, SNE and the elastic embedding share: affinities, then descent."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bitfold import _checks
from bitfold.embedding import descent
from bitfold.embedding._base import DataGraph, Embedding, Given
from bitfold.embedding.affinity import counted_affinities, perplexity_affinities

FloatArray = NDArray[np.float32]
Minimise = Callable[[csr_array, int, np.random.Generator, descent.Schedule], descent.Descent]


COUNT_FROM, COUNT_SHARPLY, COUNT_SURELY, COUNT_ENOUGH = 5, 15, 50, 256
"""Training points a base point: from which on the graph is counted, from which on its counts need
no smoothing, from which on small differences between them are real, and after which no more are
looked at."""

smoothly_counted = partial(counted_affinities, n_neighbors=40, power=1.0, steps=3)
"""How a graph is counted where there are few points: their neighbours' neighbours tell more."""

sharply_counted = partial(counted_affinities, power=2.0)
surely_counted = counted_affinities
"""How it is counted where there are enough, and where there are many."""

PERPLEXITY = 5.0
"""Of the base set's own distances, where the graph cannot be counted."""


class Stochastic(Embedding):
    """An embedding by descent along affinities; a subclass gives ``_minimiser``."""

    def __init__(
        self,
        perplexity: float | None = None,
        n_iter: int = 500,
        learning_rate: float | None = None,
    ) -> None:
        self.perplexity = perplexity
        self.n_iter = n_iter
        self.learning_rate = learning_rate

    def _embed(self, base: FloatArray, n_components: int, given: Given) -> FloatArray:
        owner = type(self).__name__
        n_iter = _checks.integer(self.n_iter, "n_iter", owner, low=1)
        rate = self.learning_rate
        if rate is not None:
            rate = _checks.positive(rate, "learning_rate", owner)
        P = self._affinities(base, given.data)
        schedule = descent.Schedule(n_iter, rate, on_step=given.on_step)
        minimise = self._minimiser(len(base), self._points_each(base, given.data))
        return minimise(P, n_components, given.rng, schedule).Y

    def _points_each(self, base: FloatArray, data: DataGraph | None) -> float | None:
        """Return the training points a base point that the graph is counted with, None if not."""
        if data is None or data.k < 2 or self.perplexity is not None:
            return None
        each = len(data) / len(base)
        return each if each >= COUNT_FROM else None

    def _affinities(self, base: FloatArray, data: DataGraph | None) -> csr_array:
        """Count the graph where data allow it and no perplexity was asked for."""
        m, each = len(base), self._points_each(base, data)
        if data is not None and each is not None:
            few = smoothly_counted if each < COUNT_SHARPLY else sharply_counted
            affinities = few if each < COUNT_SURELY else surely_counted
            return affinities(data.blocks(at_most=COUNT_ENOUGH * m), m)
        owner = type(self).__name__
        asked = PERPLEXITY if self.perplexity is None else self.perplexity
        perplexity = _checks.positive(asked, "perplexity", owner)
        if perplexity < 1:
            _checks.refuse("perplexity", owner, "at least 1", self.perplexity)
        return perplexity_affinities(base, perplexity)

    @abstractmethod
    def _minimiser(self, m: int, points_each: float | None) -> Minimise:
        """Return what minimises the method's cost for m base points.

        ``points_each`` are the training points of one, if the graph was counted with them.
        """
