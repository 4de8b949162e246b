"""Linear hash functions: a bit is the side of a hyperplane."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold._kernels import products
from bitfold._threads import borrow_buffer
from bitfold._types import AnyArray, Float32Array, Float64Array, UInt8Array
from bitfold.codes import count_bytes
from bitfold.hashers.base.hasher import Hasher

_LARGEST = np.finfo(np.float32).max


class Hyperplane(NamedTuple):
    """The normal of a hyperplane, and its position along the normal."""

    direction: Float64Array
    threshold: float


class LinearHasher(Hasher):
    """Bit b of x is 1 if (x - center)·w_b exceeds a threshold.

    A subclass learns the directions in ``_learn`` and returns
    ``_fitted_hyperplanes(directions, thresholds)``.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    directions_
        The normals w_b of the hyperplanes, one per row.
    thresholds_
        The position of each hyperplane along its normal.

    Examples
    --------
    >>> class Axes(LinearHasher):
    ...     def _learn(self, rows, y, progress):
    ...         return self._fitted_hyperplanes(np.eye(rows.n_features))
    >>> Axes().fit([[0.0, 5.0], [2.0, 1.0]]).transform([[9.0, 0.0]]).tolist()
    [[1, 0]]
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
        # ``fit`` raises if a value is too large for float32.
        with np.errstate(over="ignore"):
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
        """Return the signs of ``_embed_block``, faster.

        A matrix product gives the signs. Exact reals are computed only where its rounding could
        change a sign.
        """
        transposed, lengths = self._derive("transposed", self._transpose_directions)
        approximate = borrow_buffer("products", (len(values), self.n_bits_))
        # A row too far for float32 overflows here; the kernel sums it in float64 instead.
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(values, transposed, out=approximate)
        packed = np.empty((len(values), count_bytes(self.n_bits_)), np.uint8)
        products.signs(values, approximate, self.directions_, lengths, self.thresholds_, packed)
        return packed

    def _transpose_directions(self) -> tuple[Float32Array, Float32Array]:
        # With an infinite length, the kernel computes every product exactly.
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(self.directions_, axis=1)
        return np.ascontiguousarray(self.directions_.T), lengths
