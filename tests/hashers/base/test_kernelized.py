"""Hashers with a choice of kernel: both forms encode as their families do, mixtures are errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bitfold._types import ProgressCallback
from bitfold.errors import DataError
from bitfold.hashers.base import KernelHasher, LinearHasher, Rows
from bitfold.hashers.base.kernelized import KernelizedHasher

X = load_digits().data[:200]
W = np.random.default_rng(0).standard_normal((9, 64))
A = np.random.default_rng(1).standard_normal((9, 20))


def use_fixed_functions(hasher: Any, kernel: str, rows: Rows) -> dict[str, Any]:
    """Return hyperplanes, or kernels with the first rows as anchors."""
    if kernel == "linear":
        return dict(hasher._fitted_hyperplanes(W))
    return dict(hasher._fitted_kernels(rows.block(0, 20), 25.0, A, np.zeros(9)))


class FixedKernelized(KernelizedHasher):
    """Hash functions of either form."""

    def __init__(self, kernel: str = "linear") -> None:
        self.kernel = kernel

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        return use_fixed_functions(self, self.kernel, rows)


class FixedLinear(LinearHasher):
    """The same hyperplanes."""

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        return use_fixed_functions(self, "linear", rows)


class FixedKernels(KernelHasher):
    """The same kernels."""

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        return use_fixed_functions(self, "rbf", rows)


@pytest.mark.parametrize(("kernel", "family"), [("linear", FixedLinear), ("rbf", FixedKernels)])
def test_codes_are_those_of_the_family(kernel: str, family: Any) -> None:
    ours, expected = FixedKernelized(kernel).fit(X), family().fit(X)
    np.testing.assert_array_equal(ours.embed(X), expected.embed(X))
    np.testing.assert_array_equal(ours.transform(X), expected.transform(X))


@pytest.mark.parametrize(
    ("kernel", "wrong"),
    [
        ("linear", {"directions_": None}),
        ("linear", {"anchors_": np.ones((20, 64), np.float32)}),
        ("rbf", {"coefficients_": None}),
        ("rbf", {"directions_": np.ones((9, 64), np.float32)}),
        ("rbf", {"bandwidth_": 0.0}),
    ],
)
def test_a_mixture_of_both_forms_cannot_be_saved(
    kernel: str, wrong: dict[str, Any], tmp_path: Any
) -> None:
    ours = FixedKernelized(kernel).fit(X)
    ours.save(tmp_path / "right.bitfold")
    for name, value in wrong.items():
        setattr(ours, name, value)
    with pytest.raises(DataError, match="cannot be saved"):
        ours.save(tmp_path / "wrong.bitfold")
