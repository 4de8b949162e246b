"""Linear hash functions: a bit is the side of a hyperplane."""

from __future__ import annotations

from functools import partial
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
        return project_rows(values, self.directions_, self.thresholds_)

    def _encode_block(self, values: Float32Array) -> UInt8Array:
        transpose = partial(transpose_directions, self.directions_)
        derived = self._derive("transposed", transpose)
        return pack_signs(values, self.directions_, self.thresholds_, derived)


class TransposedDirections(NamedTuple):
    """Directions as columns, for a matrix product, and their lengths."""

    columns: Float32Array
    lengths: Float32Array


def transpose_directions(directions: Float32Array) -> TransposedDirections:
    """Return directions in the form that ``pack_signs`` needs."""
    # With an infinite length, the kernel computes every product exactly.
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(directions, axis=1)
    return TransposedDirections(np.ascontiguousarray(directions.T), lengths)


def project_rows(
    values: Float32Array, directions: Float32Array, thresholds: Float32Array
) -> Float32Array:
    """Return the inner products of rows and directions minus the thresholds, (rows, directions).

    Those of a row depend on that row alone, bit for bit.
    """
    out = np.empty((len(values), len(directions)), np.float32)
    products.dots(values, directions, out)
    out -= thresholds
    return out.clip(-_LARGEST, _LARGEST, out=out)


def pack_signs(
    values: Float32Array,
    directions: Float32Array,
    thresholds: Float32Array,
    transposed: TransposedDirections,
) -> UInt8Array:
    """Return the packed signs of ``project_rows``, faster.

    A matrix product gives the signs. Exact reals are computed only where its rounding could
    change a sign.
    """
    approximate = borrow_buffer("products", (len(values), len(directions)))
    # A row too far for float32 overflows here; the kernel sums it in float64 instead.
    with np.errstate(over="ignore", invalid="ignore"):
        np.matmul(values, transposed.columns, out=approximate)
    packed = np.empty((len(values), count_bytes(len(directions))), np.uint8)
    products.signs(values, approximate, directions, transposed.lengths, thresholds, packed)
    return packed
