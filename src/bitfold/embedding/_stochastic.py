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


COUNT_FROM, COUNT_SHARPLY, COUNT_ENOUGH = 5, 15, 256
"""Training points a base point: from which on the graph is counted, from which on its counts need
no smoothing, and after which no more are looked at."""

smoothly_counted = partial(counted_affinities, n_neighbors=40, power=1.0, steps=3)
"""How a graph is counted where there are few points: their neighbours' neighbours tell more."""

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
        return self._minimiser(len(base))(P, n_components, given.rng, schedule).Y

    def _affinities(self, base: FloatArray, data: DataGraph | None) -> csr_array:
        """Count the graph where data allow it and no perplexity was asked for."""
        m = len(base)
        countable = data is not None and data.k >= 2 and len(data) >= COUNT_FROM * m
        if data is not None and countable and self.perplexity is None:
            enough = len(data) >= COUNT_SHARPLY * m
            affinities = counted_affinities if enough else smoothly_counted
            return affinities(data.blocks(at_most=COUNT_ENOUGH * m), m)
        owner = type(self).__name__
        asked = PERPLEXITY if self.perplexity is None else self.perplexity
        perplexity = _checks.positive(asked, "perplexity", owner)
        if perplexity < 1:
            _checks.refuse("perplexity", owner, "at least 1", self.perplexity)
        return perplexity_affinities(base, perplexity)

    @abstractmethod
    def _minimiser(self, m: int) -> Minimise:
        """Return what minimises the method's cost for m base points."""
