"""Base sets that are chosen once and shared by the methods and code lengths that need the same."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from bitfold.base_set import BaseSet, BaseStrategy, KMeansBase, KMedoidsBase, RandomBase

MAX_BASE_SETS = 48
"""Base sets that are kept: three seeds of every size in Table II, or of every strategy."""


class CachedBaseSet(NamedTuple):
    """A base set, the seconds it took, and the state of the generator afterwards."""

    base_set: BaseSet
    seconds: float
    generator_state: Any


class BaseSetCache:
    """Base sets by what they depend on; the least recently used ones are dropped.

    ``saved_seconds`` is the total time that reused base sets took when they were chosen.
    """

    def __init__(self) -> None:
        self.base_sets: OrderedDict[tuple[Any, ...], CachedBaseSet] = OrderedDict()
        self.saved_seconds = 0.0

    def find(self, key: tuple[Any, ...]) -> CachedBaseSet | None:
        """Return a base set if it is known, and count the time that this saves."""
        found = self.base_sets.get(key)
        if found is not None:
            self.base_sets.move_to_end(key)
            self.saved_seconds += found.seconds
        return found

    def add(self, key: tuple[Any, ...], found: CachedBaseSet) -> None:
        """Keep a base set."""
        self.base_sets[key] = found
        if len(self.base_sets) > MAX_BASE_SETS:
            self.base_sets.popitem(last=False)


CACHE = BaseSetCache()
"""The cache of this process. Hashers copy their strategies, so that it cannot be a parameter."""


class _CachedChoice(BaseStrategy):
    """Look a base set up before choosing it.

    ``dataset`` names the rows that the strategy will see; without a name nothing is cached. The
    generator continues from the same state in either case.
    """

    dataset: str

    def choose(self, X: Any, *, rng: Any = None, on_step: Any = None) -> BaseSet:
        """Return the base set of X, from the cache if it is known."""
        if not (self.dataset and isinstance(rng, np.random.Generator)):
            return super().choose(X, rng=rng, on_step=on_step)
        state = str(rng.bit_generator.state)
        params = tuple(sorted(self.get_params().items()))
        key = (type(self), params, len(X), state)
        found = CACHE.find(key)
        if found is not None:
            rng.bit_generator.state = found.generator_state
            return found.base_set
        start = time.perf_counter()
        base_set = super().choose(X, rng=rng, on_step=on_step)
        seconds = time.perf_counter() - start
        CACHE.add(key, CachedBaseSet(base_set, seconds, rng.bit_generator.state))
        return base_set


class CachedKMeansBase(_CachedChoice, KMeansBase):
    """K-means, cached."""

    def __init__(self, n_base_points: int = 400, max_iter: int = 20, dataset: str = "") -> None:
        super().__init__(n_base_points, max_iter)
        self.dataset = dataset


class CachedKMedoidsBase(_CachedChoice, KMedoidsBase):
    """K-medoids, cached."""

    def __init__(self, n_base_points: int = 400, max_iter: int = 20, dataset: str = "") -> None:
        super().__init__(n_base_points, max_iter)
        self.dataset = dataset


def make_base_strategy(name: str, n_base_points: int, dataset: str) -> BaseStrategy:
    """Return the strategy called ``"kmeans"``, ``"kmedoids"`` or ``"random"``."""
    if name == "random":
        return RandomBase(n_base_points)  # quicker than a look into the cache
    cached = {"kmeans": CachedKMeansBase, "kmedoids": CachedKMedoidsBase}
    return cached[name](n_base_points, dataset=dataset)
