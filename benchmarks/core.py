"""The hot paths of fitting and encoding, each against the limit it cannot beat."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn import manifold

import bitfold as bf
from benchmarks._harness import Ratio, best_of, seconds, side_by_side
from bitfold import datasets
from bitfold.embedding import perplexity_affinities, stochastic
from bitfold.embedding.tsne import cauchy_repulsion, tsne
from bitfold.errors import MissingDataError

FloatArray = NDArray[np.float32]


def run() -> list[Ratio]:
    """Measure all; real MNIST where it is at hand, else noise of its shape."""
    X = vectors()
    warm_up(X)
    return [
        fit_against_kmeans(X),
        *tsne_against_sklearn(X),
        tsne_step_against_sgemm(),
        encode_against_sgemm(X),
        encode_one_row(X),
        fit_twice_the_rows(X),
        import_time(),
    ]


def vectors() -> FloatArray:
    """69,000 × 784 float32."""
    try:
        return datasets.mnist().database.astype(np.float32) / np.float32(255)
    except MissingDataError:
        return np.random.default_rng(0).random((69000, 784), dtype=np.float32)


def warm_up(X: FloatArray) -> None:
    """Compile the kernels and wake the thread pools."""
    bf.IMH(64, base=bf.KMeansBase(400), random_state=0).fit(X[:5000]).encode(X[:5000])


def kmeans(X: FloatArray, m: int) -> FloatArray:
    """K-means by faiss alone, 20 iterations on all rows."""
    run = faiss.Kmeans(X.shape[1], m, niter=20, seed=0, max_points_per_centroid=len(X))
    run.train(X)
    return np.asarray(run.centroids, np.float32)


def fit_against_kmeans(X: FloatArray) -> Ratio:
    """Whole fit against the k-means in it."""
    ours, theirs = side_by_side(
        lambda: bf.IMH(64, base=bf.KMeansBase(400), random_state=0).fit(X), lambda: kmeans(X, 400)
    )
    note = f"{ours:.2f} s, faiss k-means alone {theirs:.2f} s"
    return Ratio("IMH fit, 69,000 × 784, m=400, 64 bits, ITQ", ours / theirs, 1.6, note=note)


def dense_kl(P: NDArray[np.float64], Y: FloatArray) -> float:
    """KL(P || Q) of Eq. (11), with nothing left out."""
    Z = Y.astype(np.float64)
    sq = ((Z[:, None] - Z[None]) ** 2).sum(-1)
    W = 1 / (1 + sq)
    np.fill_diagonal(W, 0)
    Q = W / W.sum()
    there = P > 0
    return float(np.sum(P[there] * np.log(P[there] / Q[there])))


class CauchyTSNE(manifold.TSNE):
    """scikit-learn's solver on the paper's objective.

    Left alone it takes a Student kernel of n_components - 1 degrees of freedom, whose divergence
    is another function and cannot be compared.
    """

    def _tsne(self, P: Any, degrees_of_freedom: int, *others: Any, **named: Any) -> Any:
        return super()._tsne(P, 1, *others, **named)


def tsne_against_sklearn(X: FloatArray) -> list[Ratio]:
    """1,000 iterations on the same 400 points, and the divergence each reaches."""
    base = kmeans(X[:20000], 400)
    P = perplexity_affinities(base, 5.0)
    schedule = stochastic.Schedule(max_iter=1000, tolerance=-np.inf)
    ours = best_of(lambda: tsne(P, 64, np.random.default_rng(0), schedule))
    reached = tsne(P, 64, np.random.default_rng(0), schedule).Y
    peer = CauchyTSNE(
        64, perplexity=5, method="exact", max_iter=1000, init="random", random_state=0
    )
    theirs = seconds(lambda: peer.fit(base))
    full = perplexity_affinities(base, 5.0, n_neighbors=399).toarray()
    kl_ours, kl_theirs = dense_kl(full, reached), dense_kl(full, peer.embedding_)
    what = "t-SNE, 400 points × 64 dimensions, 1,000 iterations"
    note = f"{ours:.2f} s, scikit-learn's exact solver {theirs:.1f} s"
    return [
        Ratio(f"{what}: times faster", theirs / ours, 12, at_least=True, note=note),
        Ratio(
            f"{what}: KL against scikit-learn's",
            kl_ours / kl_theirs,
            1.0,
            note=f"{kl_ours:.3f} and {kl_theirs:.3f}",
        ),
    ]


def tsne_step_against_sgemm() -> Ratio:
    """One iteration at 4,000 points against its two bare matrix products."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((4000, 64)).astype(np.float32)
    P = perplexity_affinities(Y, 5.0)
    objective = stochastic.Objective(cauchy_repulsion, is_student=True)
    schedule = stochastic.Schedule(max_iter=20, tolerance=-np.inf)
    products, force = np.empty((4000, 4000), np.float32), np.empty_like(Y)

    def bare() -> None:
        for _ in range(21):  # as many gradients as 20 iterations take
            np.matmul(Y, Y.T, out=products)
            np.matmul(products, Y, out=force)

    ours, theirs = side_by_side(lambda: _steps(P, objective, Y, schedule), bare)
    note = f"{ours / 20 * 1e3:.1f} ms, the products {theirs / 20 * 1e3:.1f} ms"
    return Ratio("t-SNE, 4,000 points × 64, per iteration", ours / theirs, 1.6, note=note)


def _steps(
    P: csr_array, objective: stochastic.Objective, Y: FloatArray, schedule: stochastic.Schedule
) -> None:
    stochastic.descend(P, objective, Y, schedule)


def encode_against_sgemm(X: FloatArray) -> Ratio:
    """Encoding against the bare product X Bᵀ."""
    hasher = bf.IMH(64, base=bf.KMeansBase(400), random_state=0).fit(X[:20000])
    B = hasher.base_set_
    out = np.empty((len(X), len(B)), np.float32)
    ours, theirs = side_by_side(
        lambda: hasher.encode(X), lambda: np.matmul(X, B.T, out=out), times=7
    )
    note = f"{ours:.3f} s, the product {theirs:.3f} s"
    return Ratio("encode 69,000 × 784, m=400", ours / theirs, 1.35, note=note)


def encode_one_row(X: FloatArray) -> Ratio:
    """A single query, warm: microseconds."""
    hasher = bf.IMH(64, base=bf.KMeansBase(400), random_state=0).fit(X[:20000])
    row = X[:1].copy()
    each = best_of(lambda: [hasher.encode(row) for _ in range(200)], times=7) / 200
    return Ratio("encode one row, µs", each * 1e6, 150, note="784 features, m=400")


def fit_twice_the_rows(X: FloatArray) -> Ratio:
    """Fit time from n to 2n."""
    half = X[: len(X) // 2]
    hasher = bf.IMH(64, base=bf.KMeansBase(400), random_state=0)
    whole_time, half_time = side_by_side(lambda: hasher.fit(X), lambda: hasher.fit(half))
    note = f"{half_time:.2f} s to {whole_time:.2f} s"
    return Ratio("fit time from n to 2n", whole_time / half_time, 2.2, note=note)


def import_time() -> Ratio:
    """Seconds of `import bitfold` above an empty interpreter, and that nothing is compiled."""

    def start(code: str) -> float:
        command = [sys.executable, "-c", code]
        return best_of(lambda: subprocess.run(command, check=True, env=os.environ), times=5)

    taken = start("import bitfold") - start("pass")
    return Ratio("import bitfold, s", taken, 0.5, note="above an empty interpreter")


warnings.filterwarnings("ignore", category=FutureWarning, module="sklearn")
