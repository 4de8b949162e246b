"""Linear hash functions: a bit is the side of a hyperplane."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold._kernels import products
from bitfold._threads import borrow_buffer
from bitfold._types import AnyArray, Float32Array, Float64Array, UInt8Array
from bitfold.codes import count_bytes
from bitfold.hashers.base.hasher import Hasher


class _Directions(NamedTuple):
    """The directions as the kernels want them."""

    transposed: Float32Array
    lengths: Float32Array


class Hyperplane(NamedTuple):
    """A bit's normal and how far along it the plane lies."""

    direction: Float64Array
    threshold: float


class LinearHasher(Hasher):
    """Bit b of x is whether (x - center)·w_b exceeds a threshold.

    A subclass learns the directions in ``_learn`` and returns
    ``_fitted_hyperplanes(directions, thresholds)``.

    Attributes
    ----------
    directions_
        The normals w_b of the hyperplanes, one a row.
    thresholds_
        Where along its normal each hyperplane lies.
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "directions_": ("n_bits_", "n_features_in_"),
        "thresholds_": ("n_bits_",),
    }

    directions_: Float32Array
    thresholds_: Float32Array

    @staticmethod
    def _fitted_hyperplanes(
        directions: AnyArray, thresholds: AnyArray | None = None
    ) -> dict[str, Any]:
        """Return the fitted attributes of hyperplanes, one per row.

        Without thresholds they pass through the center.
        """
        if thresholds is None:
            thresholds = np.zeros(len(directions))
        return {
            "n_bits_": len(directions),
            "directions_": np.ascontiguousarray(directions, np.float32),
            "thresholds_": np.ascontiguousarray(thresholds, np.float32),
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        out = np.empty((len(values), self.n_bits_), np.float32)
        products.dots(values, self.directions_, out)
        out -= self.thresholds_
        return out.clip(-_LARGEST, _LARGEST, out=out)

    def _encode_block(self, values: Float32Array) -> UInt8Array:
        """Signs of ``_embed_block``, from a matrix product wherever its rounding cannot matter."""
        transposed, lengths = self._derive("transposed", lambda: _transpose(self.directions_))
        by_blas = borrow_buffer("products", (len(values), self.n_bits_))
        # A row too far for float32 overflows here and is summed in float64 instead.
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(values, transposed, out=by_blas)
        packed = np.empty((len(values), count_bytes(self.n_bits_)), np.uint8)
        products.signs(values, by_blas, self.directions_, lengths, self.thresholds_, packed)
        return packed


_LARGEST = np.finfo(np.float32).max


def _transpose(directions: Float32Array) -> _Directions:
    # With an infinite length, the kernel computes every product exactly.
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(directions, axis=1)
    return _Directions(np.ascontiguousarray(directions.T), lengths)
