"""Compared hashers: fitting and encoding against the matrix products in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import load_mnist_vectors
from benchmarks.measuring import Ratio, time_both
from bitfold.hashers import ITQ, LSH, PCAH, Hasher
from bitfold.hashers.base.linear import LinearHasher

ITQ_SAMPLE = 1 << 16
"""Rows that ITQ learns its rotation from."""

ITQ_ITERATIONS = 50


def run() -> list[Ratio]:
    """Return all ratios; MNIST is used if it is available, else noise."""
    X = load_mnist_vectors()
    ITQ(64, max_iter=2, random_state=0).fit(X[:5000]).encode(X[:5000])
    return [
        compare_fit(PCAH(64), X, make_covariance_product(X)),
        compare_fit(
            ITQ(64, random_state=0), X, make_covariance_product(X), make_rotation_products(64)
        ),
        *(compare_encode(hasher, X) for hasher in (LSH(64), PCAH(64), ITQ(64), ITQ(128))),
    ]


def make_covariance_product(X: NDArray[np.float32]) -> Callable[[], object]:
    """Return a function that computes the whole product XᵀX."""
    # numpy computes only half of the product of an array with itself.
    out, copy = np.empty((X.shape[1], X.shape[1]), np.float32), X.copy()
    return lambda: np.matmul(X.T, copy, out=out)


def make_rotation_products(n_bits: int) -> Callable[[], None]:
    """Return a function that computes both products of every iteration of ITQ."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((ITQ_SAMPLE, n_bits)).astype(np.float32)
    R = rng.standard_normal((n_bits, n_bits)).astype(np.float32)
    Z, square = np.empty_like(V), np.empty_like(R)

    def multiply() -> None:
        for _ in range(ITQ_ITERATIONS):
            np.matmul(V, R, out=Z)
            np.matmul(V.T, Z, out=square)

    return multiply


def compare_fit(hasher: Hasher, X: NDArray[np.float32], *products: Callable[[], object]) -> Ratio:
    """Compare a fit with the bare products in it."""
    ours, theirs = time_both(lambda: hasher.fit(X), lambda: [work() for work in products])
    note = f"{ours:.2f} s, its products {theirs:.2f} s"
    name = f"{type(hasher).__name__} fit, 69,000 × 784, 64 bits"
    return Ratio(name, ours / theirs, 1.5, note=note)


def compare_encode(hasher: LinearHasher, X: NDArray[np.float32]) -> Ratio:
    """Compare encoding with the bare product with the directions."""
    directions = np.ascontiguousarray(hasher.fit(X[:20000]).directions_.T)
    out = np.empty((len(X), hasher.n_bits_), np.float32)
    ours, theirs = time_both(
        lambda: hasher.encode(X), lambda: np.matmul(X, directions, out=out), n_runs=25
    )
    note = f"{ours:.3f} s, the product {theirs:.3f} s"
    name = f"{type(hasher).__name__} encode, 69,000 × 784, {hasher.n_bits_} bits"
    return Ratio(name, ours / theirs, 1.3, note=note)
