"""Periodic hash functions: a bit is the sign of a cosine along a direction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bitfold._kernels import functions, products
from bitfold._types import AnyArray, Float32Array
from bitfold.hashers.base.hasher import Hasher


class PeriodicHasher(Hasher):
    """Bit b of x is 1 if cos((x - center)·w_b + phase_b) exceeds a threshold.

    A subclass learns the waves in ``_learn`` and returns
    ``_fitted_waves(frequencies, phases, thresholds)``.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    frequencies_
        The wave vectors w_b, in radians per unit of length, one per row.
    phases_
        The phases of the waves at the center, in radians.
    thresholds_
        The values that the cosines must exceed.

    Examples
    --------
    >>> class Stripes(PeriodicHasher):
    ...     def _learn(self, rows, y, progress):
    ...         d = rows.n_features
    ...         return self._fitted_waves(np.pi * np.eye(d), np.zeros(d))
    >>> Stripes().fit([[-1.0], [1.0]]).transform([[0.0], [1.0], [2.0]]).tolist()
    [[1], [0], [1]]
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
        angles = np.empty((len(values), self.n_bits_), np.float32)
        products.dots(values, self.frequencies_, angles)
        functions.waves(angles, self.phases_, self.thresholds_)
        return angles
