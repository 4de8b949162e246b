"""Base sets that are chosen once: methods and code lengths that start from the same share it."""

from __future__ import annotations

import time
import zlib
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfold.base_set import BaseStrategy
from bitfold.hashers.strategies import BASE_STRATEGIES

FloatArray = NDArray[np.float32]

MOST = 48
"""Sets that are kept: three seeds of all sizes of the paper's, or of all ways to choose them."""


class _Chosen(NamedTuple):
    """A base set, the seconds it took, and where the generator went."""

    points: FloatArray
    seconds: float
    state: Any


_chosen: OrderedDict[tuple[Any, ...], _Chosen] = OrderedDict()
_saved = 0.0


def seconds_saved() -> float:
    """Say how long choosing took of all the sets that were taken over since the start."""
    return _saved


class SharedBase(BaseStrategy):
    """A base set as ``way`` chooses it, taken over where it was chosen before.

    It depends on the sample and the generator alone, which are what a set is known by; the
    generator goes on as if the set had been chosen anew.
    """

    def __init__(self, m: int = 400, way: str = "kmeans") -> None:
        super().__init__(m)
        self.way = way

    def _choose(
        self, sample: FloatArray, m: int, rng: np.random.Generator, on_step: Any
    ) -> FloatArray:
        global _saved
        key = (self.way, m, sample.shape, zlib.crc32(sample.data), str(rng.bit_generator.state))
        if key in _chosen:
            known = _chosen[key]
            rng.bit_generator.state = known.state
            _saved += known.seconds
            _chosen.move_to_end(key)
            return known.points.copy()
        start = time.perf_counter()
        points = BASE_STRATEGIES[self.way](m)._choose(sample, m, rng, on_step)
        seconds = time.perf_counter() - start
        _chosen[key] = _Chosen(points.copy(), seconds, rng.bit_generator.state)
        if len(_chosen) > MOST:
            _chosen.popitem(last=False)
        return points
