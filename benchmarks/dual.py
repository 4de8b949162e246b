"""DualHasher: fitting against a product quantizer of faiss, and from 100,000 to a million rows."""

from __future__ import annotations

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import load_mnist_vectors, load_sift_vectors, load_text_vectors
from benchmarks.measuring import Ratio, time_both
from bitfold import DualHasher

QUANTIZER = "PQ16x8"
"""Index of faiss with as many bytes per vector as 128 bits."""

FEW, MANY = 100_000, 1_000_000


def run() -> list[Ratio]:
    """Return all ratios; those of the text set and of SIFT need real data."""
    mnist, text, sift = load_mnist_vectors(), load_text_vectors(), load_sift_vectors()
    make_dual().fit(mnist[:5000]).encode(mnist[:5000])  # compiles the kernels
    named = {"text set": text, "MNIST": mnist}
    return [
        *(compare_with_quantizer(X, name) for name, X in named.items() if X is not None),
        *([] if sift is None else [compare_sizes(sift)]),
    ]


def make_dual() -> DualHasher:
    """Return the default hasher, with 128 bits."""
    return DualHasher(128, random_state=0)


def compare_with_quantizer(X: NDArray[np.float32], name: str) -> Ratio:
    """Compare a fit with training and filling a quantizer on the same rows."""

    def fill_quantizer() -> None:
        index = faiss.index_factory(X.shape[1], QUANTIZER)
        index.train(X)
        index.add(X)

    ours, theirs = time_both(lambda: make_dual().fit(X), fill_quantizer)
    n, d = X.shape
    note = f"{ours:.1f} s, faiss {QUANTIZER} {theirs:.1f} s"
    return Ratio(f"fit, {name}, {n:,} × {d}, 128 bits", ours / theirs, 0.75, note=note)


def compare_sizes(X: NDArray[np.uint8]) -> Ratio:
    """Compare fits of a million and of 100,000 rows."""
    few, many = np.array(X[:FEW]), np.array(X[:MANY])
    slow, fast = time_both(lambda: make_dual().fit(many), lambda: make_dual().fit(few))
    name = f"fit, SIFT-1M-photos, {MANY:,} against {FEW:,} rows"
    return Ratio(name, slow / fast, 2, note=f"{fast:.1f} s to {slow:.1f} s")
