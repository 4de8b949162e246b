"""Sec. 3.2: why a small base set is enough, as an algorithm whose error is known.

The exact embedding of a new point, Eq. (4), averages over all n points. The prototype algorithm
estimates it from at most 2m points drawn from m clusters, Eq. (5). The estimate is unbiased, and
its error falls with m and with the covering radius ε of the embedded points.

Throughout, ``Y`` holds the n embedded points, ``alpha`` their n weights for one query,
``labels`` their clusters, 0 to m - 1, and ε and n' are ``epsilon`` and ``n_prime``.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax

from bitfold import _validation

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class Cover(NamedTuple):
    """m balls around the rows ``centers`` of Y, and the disjoint nonempty clusters they make.

    ``radii[j]`` is the radius at which the first j + 1 balls cover Y: it bounds ε_{j+1}(Y) from
    above, and half of it from below.
    """

    centers: IntArray
    labels: IntArray
    radii: FloatArray

    @property
    def radius(self) -> float:
        """ε: no point is farther than this from the center of its cluster."""
        return float(self.radii[-1])


class Estimate(NamedTuple):
    """Repetitions of ŷ_q, one a row, and the rows of Y drawn for each."""

    y: FloatArray
    indices: IntArray


class Moments(NamedTuple):
    """Mean of ŷ_q, and its variance E‖ŷ_q - y_q‖², the sum over all dimensions."""

    mean: FloatArray
    variance: float


def induction_weights(X_query: Any, X: Any, k: int, bandwidth: float) -> FloatArray:
    """Return α, one row per query: exp(-‖x_q - x_i‖² / σ²) on the k nearest of all n points.

    Rows sum to one. Of points equally far, the one with the lower index counts as nearer.
    """
    queries, points = _points(X_query, "X_query"), _points(X, "X")
    n, d = points.shape
    if queries.shape[1] != d:
        _raise_invalid("X_query", f"rows of {d} features, as X has", queries.shape[1])
    _validation.check_integer(k, "k", "prototype", low=1, high=n, why=f"n={n}")
    sigma = _validation.check_positive(bandwidth, "bandwidth", "prototype")
    sq_distances = cdist(queries, points, "sqeuclidean")
    nearest = np.argsort(sq_distances, axis=1, kind="stable")[:, :k]
    gaps = np.take_along_axis(sq_distances, nearest, axis=1)
    gaps -= gaps[:, :1].copy()
    # An overflow means no weight; the nearest point, at gap 0, always keeps its own.
    with np.errstate(over="ignore"):
        weights = softmax(-gaps / sigma / sigma, axis=1)
    alpha = np.zeros((len(queries), n))
    np.put_along_axis(alpha, nearest, weights, axis=1)
    return alpha


def exact_induction(X_query: Any, X: Any, Y: Any, k: int, bandwidth: float) -> FloatArray:
    """Embed new points by Eq. (4): the weighted mean of the embeddings of all n points.

    Costs O(n) a query in time and memory: the reference that fast inductions are measured by.
    """
    alpha = induction_weights(X_query, X, k, bandwidth)
    embedded = _points(Y, "Y")
    if len(embedded) != alpha.shape[1]:
        _raise_invalid("Y", f"one row for each of the {alpha.shape[1]} rows of X", len(embedded))
    return alpha @ embedded


def cover(Y: Any, m: int) -> Cover:
    """Bound the entropy numbers ε_1(Y), ..., ε_m(Y) by a farthest-point (Gonzalez) cover.

    The exact numbers are NP-hard. The m centers and the point then farthest are m + 1 points at
    least ``radius`` apart. Two of them share a ball of any cover by m, wherever its centers lie,
    so radius / 2 ≤ ε_m(Y) ≤ radius. Costs O(nm) distances.
    """
    points = _points(Y, "Y")
    n = len(points)
    _validation.check_integer(m, "m", "prototype", low=1, high=n, why=f"n={n}")
    centers, labels, radii = np.empty(m, np.intp), np.zeros(n, np.intp), np.empty(m)
    distances, free = np.full(n, np.inf), np.ones(n, bool)
    center = cdist(points.mean(axis=0, keepdims=True), points)[0].argmin()
    for j in range(m):
        to_center = cdist(points[[center]], points)[0]
        closer = to_center < distances
        # A center moves even when it repeats an earlier one: no cluster may be empty.
        closer[center], free[center] = True, False
        labels[closer], distances[closer] = j, to_center[closer]
        centers[j], radii[j] = center, distances.max()
        center = np.where(free, distances, -1.0).argmax()
    return Cover(centers, labels, radii)


def prototype(
    Y: Any,
    alpha: Any,
    labels: Any,
    *,
    n_draws: int = 1,
    rng: int | np.random.Generator | None = None,
) -> Estimate:
    """Estimate y_q by Eq. (5), ``n_draws`` times over.

    A cluster of mass C_j = Σ α_i gives ℓ_j = ⌊m C_j + 1⌋ draws with chances α_i / C_j; these are
    at most 2m draws in all (Lemma 1).

    Examples
    --------
    >>> Y, alpha = [[0.0], [0.1], [5.0], [5.1]], [0.25, 0.25, 0.5, 0.0]
    >>> estimate = prototype(Y, alpha, cover(Y, 2).labels, n_draws=1000, rng=0)
    >>> print(estimate.y.mean().round(2), moments(Y, alpha, cover(Y, 2).labels).mean)
    2.53 [2.525]
    """
    given = _clustered(Y, alpha, labels)
    _validation.check_integer(n_draws, "n_draws", "prototype", low=1)
    generator, drawn = _validation.make_generator(rng), []
    # With C_j = 0 the chances are 0 / 0, but Eq. (5) weighs the draw by C_j / ℓ_j = 0: whichever
    # point were drawn would add nothing, so nothing is drawn.
    live = np.flatnonzero(given.mass)
    for j in live:
        rows = np.flatnonzero(given.labels == j)
        chances = given.alpha[rows] / given.mass[j]
        drawn.append(generator.choice(rows, (n_draws, given.draws[j]), p=chances))
    indices = np.concatenate(drawn, axis=1)
    scale = np.repeat(given.mass[live] / given.draws[live], given.draws[live])
    return Estimate(np.einsum("l,qlr->qr", scale, given.Y[indices]), indices)


def moments(Y: Any, alpha: Any, labels: Any) -> Moments:
    """Return the exact mean and variance of :func:`prototype`, from the proof of Lemma 2.

    The mean is y_q of Eq. (4), the variance Σ_j C_j² / ℓ_j · Var(y_u) with u drawn from cluster j.
    """
    given = _clustered(Y, alpha, labels)
    mass = given.mass[given.labels]
    chances = np.divide(given.alpha, mass, out=np.zeros_like(mass), where=mass > 0)
    means = np.zeros((len(given.mass), given.Y.shape[1]))
    np.add.at(means, given.labels, chances[:, None] * given.Y)
    spread = ((given.Y - means[given.labels]) ** 2).sum(axis=1)
    variance = np.sum(mass**2 / given.draws[given.labels] * chances * spread)
    return Moments(given.alpha @ given.Y, float(variance))


def variance_bound(epsilon: float, m: int) -> float:
    """Return ε² / m, Lemma 2's bound of the variance when m balls of radius ε gave the clusters."""
    # Var(y_u) ≤ ε² as a cluster spreads less about its mean than about its center. The printed
    # proof then turns C_j² / (m C_j) into C_j² / m and takes Σ C_j² for 1; neither is right with
    # several live clusters, but the term is C_j / m and Σ C_j = 1, so the bound stands.
    radius = _radius(epsilon)
    return radius * radius / _validation.check_integer(m, "m", "prototype", low=1)


def tail_bound(epsilon: float, n_prime: int, t: float) -> float:
    """Return 2 ε² / (n' t²), Theorem 1's bound of Pr(‖ŷ_q - y_q‖ ≥ t) with m = n' / 2 clusters.

    Above 1 it says nothing. The theorem's strict inequality needs ε > 0; else both sides are 0.
    """
    ratio = _radius(epsilon) / _validation.check_positive(t, "t", "prototype")
    if _validation.check_integer(n_prime, "n_prime", "prototype", low=2) % 2:
        _raise_invalid("n_prime", "even", n_prime)
    return 2 * ratio * ratio / n_prime


def sufficient_size(epsilon: float, delta: float, t: float) -> int:
    """Return the corollary's n' for Pr(‖ŷ_q - y_q‖ < t) ≥ 1 - δ: even, at least 2 ε² / (δ t²).

    The corollary lets ε depend on the n' it yields. As ε_m never rises with m, the radius of a
    cover by m balls will do when 2m ≤ n'; else take n' = 2m.
    """
    ratio = Fraction(_radius(epsilon)) / Fraction(_validation.check_positive(t, "t", "prototype"))
    chance = _validation.check_positive(delta, "delta", "prototype")
    if chance >= 1:
        _raise_invalid("delta", "below 1", delta)
    # Fractions, since a float rounded down would break the promise, and t² may underflow.
    return 2 * max(math.ceil(ratio**2 / Fraction(chance)), 1)


def _raise_invalid(name: str, demand: str, got: object) -> NoReturn:
    _validation.raise_invalid(name, "prototype", demand, got)


def _points(values: Any, name: str) -> FloatArray:
    array = _validation.check_matrix(values, "prototype", name=name)
    _validation.check_finite(array, "prototype", name=name)
    return np.asarray(array, np.float64)


def _weights(alpha: Any) -> FloatArray:
    array = np.asarray(alpha, np.float64)
    if array.ndim != 1:
        _raise_invalid("alpha", "1-dimensional, the weights of one query", f"shape {array.shape}")
    if not ((array >= 0).all() and abs(array.sum() - 1) < 1e-6):
        _raise_invalid("alpha", "weights of at least 0 that sum to 1", f"sum {array.sum()}")
    return array


def _clusters(labels: Any, n: int) -> IntArray:
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        _raise_invalid("labels", f"{n} integers", f"shape {array.shape} of {array.dtype}")
    found = np.unique(array)
    if not np.array_equal(found, np.arange(len(found))):
        _raise_invalid("labels", "0 to m - 1, each at least once", found)
    return array.astype(np.intp)


class _Clustered(NamedTuple):
    """What was given, checked, with the mass C_j and the number of draws ℓ_j of each cluster."""

    Y: FloatArray
    alpha: FloatArray
    labels: IntArray
    mass: FloatArray
    draws: IntArray


def _clustered(Y: Any, alpha: Any, labels: Any) -> _Clustered:
    embedded, weights = _points(Y, "Y"), _weights(alpha)
    if len(embedded) != len(weights):
        _raise_invalid(
            "alpha", f"one weight for each of the {len(embedded)} rows of Y", len(weights)
        )
    clusters = _clusters(labels, len(weights))
    mass = np.bincount(clusters, weights).astype(np.float64)
    draws = np.floor(len(mass) * mass + 1).astype(np.intp)
    return _Clustered(embedded, weights, clusters, mass, draws)


def _radius(epsilon: Any) -> float:
    if isinstance(epsilon, (bool, np.bool_)) or not isinstance(epsilon, numbers.Real):
        raise TypeError(f"epsilon of prototype must be a number, got {epsilon!r}.")
    if not 0 <= float(epsilon) < math.inf:
        _raise_invalid("epsilon", "finite and at least 0", epsilon)
    return float(epsilon)
