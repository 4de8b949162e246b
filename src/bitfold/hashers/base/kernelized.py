"""Hash functions with a choice: hyperplanes, or hyperplanes in the feature space of a kernel."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from bitfold import _validation
from bitfold._types import Float32Array, UInt8Array
from bitfold.hashers.base.hasher import Hasher
from bitfold.hashers.base.kernel import KernelHasher, sum_kernels
from bitfold.hashers.base.linear import (
    LinearHasher,
    pack_signs,
    project_rows,
    transpose_directions,
)

KERNELS = ("linear", "rbf")
"""The kernels to choose from; the first is the default."""


class KernelizedHasher(Hasher):
    """A bit is the side of a hyperplane, or the sign of a weighted sum of kernels.

    A subclass has a parameter ``kernel``. Its ``_learn`` returns ``_fitted_hyperplanes`` or
    ``_fitted_kernels``, as for a :class:`LinearHasher` or a :class:`KernelHasher`.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    directions_
        Normals of the hyperplanes, one per bit; None with another kernel than the linear one.
    anchors_
        The points that the kernel is evaluated at, relative to ``center_``, one per row; None
        with the linear kernel.
    coefficients_
        Weights of the kernels, one row per bit; None with the linear kernel.
    bandwidth_
        σ of the kernel; 0 for the linear one.
    thresholds_
        Value that the inner product or the weighted sum of each bit must exceed.
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **LinearHasher._fitted_arrays,
        **KernelHasher._fitted_arrays,
    }
    _fitted_scalars: ClassVar[dict[str, type]] = KernelHasher._fitted_scalars
    _optional_arrays: ClassVar[frozenset[str]] = frozenset(
        {"directions_", "anchors_", "coefficients_"}
    )

    # Arrays of float32, or None. Declared as such, each use of a known one would need a check.
    directions_: Any = None
    anchors_: Any = None
    coefficients_: Any = None
    thresholds_: Float32Array
    bandwidth_: float

    @property
    def _floats_per_row(self) -> int:
        return max(self.n_bits_, 0 if self.anchors_ is None else len(self.anchors_))

    @staticmethod
    def _fitted_hyperplanes(directions: Any, thresholds: Any = None) -> dict[str, Any]:
        """Return the fitted attributes of hyperplanes, one per row."""
        return LinearHasher._fitted_hyperplanes(directions, thresholds) | {"bandwidth_": 0.0}

    _fitted_kernels = staticmethod(KernelHasher._fitted_kernels)

    def _embed_block(self, values: Float32Array) -> Float32Array:
        if self.directions_ is not None:
            return project_rows(values, self.directions_, self.thresholds_)
        functions = self.anchors_, self.bandwidth_, self.coefficients_, self.thresholds_
        return sum_kernels(values, *functions)

    def _encode_block(self, values: Float32Array) -> UInt8Array:
        if self.directions_ is None:
            return super()._encode_block(values)
        transpose = partial(transpose_directions, self.directions_)
        derived = self._derive("transposed", transpose)
        return pack_signs(values, self.directions_, self.thresholds_, derived)

    def _check_fitted_state(self) -> None:
        owner = type(self).__name__
        has_kernel = self.anchors_ is not None and self.coefficients_ is not None
        has_part = self.anchors_ is not None or self.coefficients_ is not None
        if has_part != has_kernel or has_kernel == (self.directions_ is not None):
            requirement = "either directions_ or both anchors_ and coefficients_"
            _validation.raise_invalid("arrays", owner, requirement, "another combination")
        if has_kernel:
            _validation.check_bandwidth(self.bandwidth_, "bandwidth_", owner)
