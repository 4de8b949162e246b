"""The compared hashers: fitting against its products or a peer, encoding against its product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks._harness import Ratio, side_by_side
from benchmarks.core import vectors
from bitfold.hashers import ITQ, LSH, PCAH, Hasher
from bitfold.hashers.base.linear import LinearHasher
from bitfold.hashers.itq import MAX_SAMPLE_ROWS

FloatArray = NDArray[np.float32]


def run() -> list[Ratio]:
    """Measure all; real MNIST where it is at hand, else noise of its shape."""
    X = vectors()
    ITQ(64, max_iter=2, random_state=0).fit(X[:5000]).encode(X[:5000])
    return [
        fit_against_products(PCAH(64), X, covariance(X)),
        fit_against_products(ITQ(64, random_state=0), X, covariance(X), rotation(64)),
        *(encode_against_product(h, X) for h in (LSH(64), PCAH(64), ITQ(64), ITQ(128))),
    ]


def covariance(X: FloatArray) -> Callable[[], object]:
    """The product XᵀX, whole."""
    out, copy = np.empty((X.shape[1], X.shape[1]), np.float32), X.copy()
    # Of an array with itself numpy would take half the product.
    return lambda: np.matmul(X.T, copy, out=out)


def rotation(n_bits: int) -> Callable[[], None]:
    """Both products of each of ITQ's 50 iterations."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((MAX_SAMPLE_ROWS, n_bits)).astype(np.float32)
    R = rng.standard_normal((n_bits, n_bits)).astype(np.float32)
    Z, square = np.empty_like(V), np.empty_like(R)

    def products() -> None:
        for _ in range(50):
            np.matmul(V, R, out=Z)
            np.matmul(V.T, Z, out=square)

    return products


def fit_against_products(hasher: Hasher, X: FloatArray, *products: Callable[[], object]) -> Ratio:
    """Whole fit against the bare products in it."""
    ours, theirs = side_by_side(lambda: hasher.fit(X), lambda: [work() for work in products])
    note = f"{ours:.2f} s, its products {theirs:.2f} s"
    return Ratio(
        f"{type(hasher).__name__} fit, 69,000 × 784, 64 bits", ours / theirs, 1.5, note=note
    )


def encode_against_product(hasher: LinearHasher, X: FloatArray) -> Ratio:
    """Encoding against the bare product with the directions."""
    directions = np.ascontiguousarray(hasher.fit(X[:20000]).directions_.T)
    out = np.empty((len(X), hasher.n_bits_), np.float32)
    ours, theirs = side_by_side(
        lambda: hasher.encode(X), lambda: np.matmul(X, directions, out=out), times=25
    )
    note = f"{ours:.3f} s, the product {theirs:.3f} s"
    what = f"{type(hasher).__name__} encode, 69,000 × 784, {hasher.n_bits_} bits"
    return Ratio(what, ours / theirs, 1.3, note=note)
