"""Periodic hash functions: a bit is the sign of a cosine along a direction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bitfold._kernels import products
from bitfold._types import AnyArray, Float32Array
from bitfold.hashers.base.hasher import Hasher


class PeriodicHasher(Hasher):
    """Bit b of x is whether cos((x - center)·w_b + phase_b) exceeds a threshold.

    A subclass learns the waves in ``_learn`` and returns
    ``_fitted_waves(frequencies, phases, thresholds)``.

    Attributes
    ----------
    frequencies_
        The wave vectors w_b, in radians a unit of length, one a row.
    phases_
        The waves' phases at the center, in radians.
    thresholds_
        Height of the cosine that makes a bit one.
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "frequencies_": ("n_bits_", "n_features_in_"),
        "phases_": ("n_bits_",),
        "thresholds_": ("n_bits_",),
    }

    frequencies_: Float32Array
    phases_: Float32Array
    thresholds_: Float32Array

    @staticmethod
    def _fitted_waves(
        frequencies: AnyArray, phases: AnyArray, thresholds: AnyArray | None = None
    ) -> dict[str, Any]:
        """Return the fitted attributes of waves, one per row.

        Without thresholds a bit is the sign of the cosine.
        """
        if thresholds is None:
            thresholds = np.zeros(len(frequencies))
        return {
            "n_bits_": len(frequencies),
            "frequencies_": np.ascontiguousarray(frequencies, np.float32),
            "phases_": np.ascontiguousarray(phases, np.float32),
            "thresholds_": np.ascontiguousarray(thresholds, np.float32),
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        turns = np.empty((len(values), self.n_bits_), np.float32)
        products.dots(values, self.frequencies_, turns)
        # In double precision: many turns away from the center the phase still counts.
        waves = np.cos(turns + self.phases_.astype(np.float64)) - self.thresholds_
        return waves.astype(np.float32)
