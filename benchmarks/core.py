"""Fitting and encoding with IMH, each against a limit that it cannot beat, or a peer."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from sklearn import manifold

from benchmarks.data import load_mnist_vectors, make_hasher
from benchmarks.measuring import Ratio, time_best, time_both, time_once
from bitfold.embedding import perplexity_affinities, stochastic
from bitfold.embedding.tsne import cauchy_repulsion, tsne

FloatArray = NDArray[np.float32]

warnings.filterwarnings("ignore", category=FutureWarning, module="sklearn")


def run() -> list[Ratio]:
    """Return all ratios; MNIST is used if it is available, else noise."""
    X = load_mnist_vectors()
    warm_up(X)
    return [
        compare_fit_with_kmeans(X),
        *compare_tsne_with_sklearn(X),
        compare_tsne_step_with_sgemm(),
        compare_encode_with_sgemm(X),
        time_one_row(X),
        compare_twice_the_rows(X),
        time_import(),
    ]


def warm_up(X: FloatArray) -> None:
    """Compile the kernels and start the thread pools."""
    make_hasher().fit(X[:5000]).encode(X[:5000])


def run_kmeans(X: FloatArray, m: int) -> FloatArray:
    """Return the centers of K-means with faiss, 20 iterations on all rows."""
    kmeans = faiss.Kmeans(X.shape[1], m, niter=20, seed=0, max_points_per_centroid=len(X))
    kmeans.train(X)
    return np.asarray(kmeans.centroids, np.float32)


def compare_fit_with_kmeans(X: FloatArray) -> Ratio:
    """Compare a fit with the K-means in it."""
    ours, theirs = time_both(lambda: make_hasher().fit(X), lambda: run_kmeans(X, 400))
    note = f"{ours:.2f} s, K-means with faiss {theirs:.2f} s"
    return Ratio("IMH fit, 69,000 × 784, m=400, 64 bits, ITQ", ours / theirs, 1.6, note=note)


def measure_divergence(P: NDArray[np.float64], Y: FloatArray) -> float:
    """Return KL(P || Q) of Eq. (11) over all pairs."""
    Z = Y.astype(np.float64)
    sq = ((Z[:, None] - Z[None]) ** 2).sum(-1)
    W = 1 / (1 + sq)
    np.fill_diagonal(W, 0)
    Q = W / W.sum()
    positive = P > 0
    return float(np.sum(P[positive] * np.log(P[positive] / Q[positive])))


class CauchyTSNE(manifold.TSNE):
    """scikit-learn's solver with the paper's objective.

    By default it uses a Student kernel with n_components - 1 degrees of freedom, whose divergence
    is another function and cannot be compared.
    """

    def _tsne(self, P: Any, degrees_of_freedom: int, *others: Any, **named: Any) -> Any:
        return super()._tsne(P, 1, *others, **named)


def compare_tsne_with_sklearn(X: FloatArray) -> list[Ratio]:
    """Compare time and divergence after 1,000 iterations on the same 400 points."""
    base = run_kmeans(X[:20000], 400)
    P = perplexity_affinities(base, 5.0)
    schedule = stochastic.Schedule(max_iter=1000, tolerance=-np.inf)
    ours = time_best(lambda: tsne(P, 64, np.random.default_rng(0), schedule))
    reached = tsne(P, 64, np.random.default_rng(0), schedule).Y
    peer = CauchyTSNE(
        64, perplexity=5, method="exact", max_iter=1000, init="random", random_state=0
    )
    theirs = time_once(lambda: peer.fit(base))
    full = perplexity_affinities(base, 5.0, n_neighbors=399).toarray()
    kl_ours, kl_theirs = (
        measure_divergence(full, reached),
        measure_divergence(full, peer.embedding_),
    )
    name = "t-SNE, 400 points × 64 dimensions, 1,000 iterations"
    note = f"{ours:.2f} s, the exact solver of scikit-learn {theirs:.1f} s"
    return [
        Ratio(f"{name}: times faster", theirs / ours, 12, at_least=True, note=note),
        Ratio(
            f"{name}: KL against scikit-learn's",
            kl_ours / kl_theirs,
            1.0,
            note=f"{kl_ours:.3f} and {kl_theirs:.3f}",
        ),
    ]


def compare_tsne_step_with_sgemm() -> Ratio:
    """Compare one iteration on 4,000 points with its two bare matrix products."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((4000, 64)).astype(np.float32)
    P = perplexity_affinities(Y, 5.0)
    objective = stochastic.Objective(cauchy_repulsion, is_student=True)
    schedule = stochastic.Schedule(max_iter=20, tolerance=-np.inf)
    products, force = np.empty((4000, 4000), np.float32), np.empty_like(Y)

    def multiply() -> None:
        for _ in range(21):  # 20 iterations compute 21 gradients
            np.matmul(Y, Y.T, out=products)
            np.matmul(products, Y, out=force)

    ours, theirs = time_both(lambda: stochastic.descend(P, objective, Y, schedule), multiply)
    note = f"{ours / 20 * 1e3:.1f} ms, the products {theirs / 20 * 1e3:.1f} ms"
    return Ratio("t-SNE, 4,000 points × 64, per iteration", ours / theirs, 1.6, note=note)


def compare_encode_with_sgemm(X: FloatArray) -> Ratio:
    """Compare encoding with the bare product X Bᵀ in all features."""
    hasher = make_hasher().fit(X[:20000])
    B = (hasher.base_points_ - hasher.center_).astype(np.float32)
    out = np.empty((len(X), len(B)), np.float32)
    ours, theirs = time_both(lambda: hasher.encode(X), lambda: np.matmul(X, B.T, out=out), n_runs=7)
    note = f"{ours:.3f} s, the product {theirs:.3f} s"
    return Ratio("encode 69,000 × 784, m=400", ours / theirs, 1.35, note=note)


def time_one_row(X: FloatArray) -> Ratio:
    """Measure the microseconds of a single query."""
    hasher = make_hasher().fit(X[:20000])
    row = X[:1].copy()
    each = time_best(lambda: [hasher.encode(row) for _ in range(200)], n_runs=7) / 200
    return Ratio("encode one row, µs", each * 1e6, 150, note="784 features, m=400")


def compare_twice_the_rows(X: FloatArray) -> Ratio:
    """Compare the fit times of 2n and n rows."""
    half = X[: len(X) // 2]
    hasher = make_hasher()
    whole_time, half_time = time_both(lambda: hasher.fit(X), lambda: hasher.fit(half))
    note = f"{half_time:.2f} s to {whole_time:.2f} s"
    return Ratio("fit time from n to 2n", whole_time / half_time, 2.2, note=note)


def time_import() -> Ratio:
    """Measure the seconds of `import bitfold`, less those of an empty interpreter."""

    def time_python(code: str) -> float:
        command = [sys.executable, "-c", code]
        return time_best(lambda: subprocess.run(command, check=True, env=os.environ), n_runs=5)

    taken = time_python("import bitfold") - time_python("pass")
    return Ratio("import bitfold, s", taken, 0.5, note="less an empty interpreter")
