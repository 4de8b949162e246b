"""The prototype algorithm of Sec. III-B: why a small base set is enough, with error bounds.

The exact embedding of a new point, Eq. (4), is a mean over all n points. The prototype algorithm
estimates it from at most 2m points drawn from m clusters, Eq. (5). The estimate is unbiased, and
its error decreases with m and with the covering radius ε of the embedded points.

In this module ``Y`` are the n embedded points, ``alpha`` their n weights for one query, ``labels``
their clusters, 0 to m - 1, and ``epsilon`` and ``n_prime`` are ε and n'.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from bitfold.errors import ParameterError, ParameterTypeError
from reproduction.shared_types import Float64Array, Int64Array


class Cover(NamedTuple):
    """m balls around rows of Y, and the disjoint nonempty clusters they form.

    Attributes
    ----------
    centers
        Rows of Y.
    labels
        Cluster of each row.
    radii
        ``radii[j]`` is the radius at which the first j + 1 balls cover Y. It is an upper bound of
        ε_{j+1}(Y), and half of it is a lower bound.
    """

    centers: Int64Array
    labels: Int64Array
    radii: Float64Array

    @property
    def radius(self) -> float:
        """ε, the largest distance of a point from the center of its cluster."""
        return float(self.radii[-1])


class Estimate(NamedTuple):
    """Repetitions of ŷ_q, one per row, and the rows of Y drawn for each."""

    y: Float64Array
    indices: Int64Array


class Moments(NamedTuple):
    """Mean of ŷ_q, and its variance E‖ŷ_q - y_q‖², summed over all dimensions."""

    mean: Float64Array
    variance: float


def induction_weights(X_query: Any, X: Any, k: int, bandwidth: float) -> Float64Array:
    """Return α, one row per query: exp(-‖x_q - x_i‖² / σ²) for the k nearest of all n points.

    Rows sum to one. Ties go to the lower index.
    """
    queries, points = _check_points(X_query, "X_query"), _check_points(X, "X")
    n, d = points.shape
    if queries.shape[1] != d:
        raise _invalid("X_query", f"rows of {d} features, like X", queries.shape[1])
    _check_count(k, "k", low=1, high=n)
    sigma = _check_positive(bandwidth, "bandwidth")
    sq_distances = cdist(queries, points, "sqeuclidean")
    nearest = np.argsort(sq_distances, axis=1, kind="stable")[:, :k]
    gaps = np.take_along_axis(sq_distances, nearest, axis=1)
    gaps -= gaps[:, :1].copy()
    # An overflow gives a weight of zero; the nearest point, with a gap of 0, keeps its own.
    with np.errstate(over="ignore"):
        weights = softmax(-gaps / sigma / sigma, axis=1)
    alpha = np.zeros((len(queries), n))
    np.put_along_axis(alpha, nearest, weights, axis=1)
    return alpha


def exact_induction(X_query: Any, X: Any, Y: Any, k: int, bandwidth: float) -> Float64Array:
    """Embed new points by Eq. (4), the weighted mean of the embeddings of all n points.

    It takes O(n) time and memory per query: the reference for faster inductions.
    """
    alpha = induction_weights(X_query, X, k, bandwidth)
    embedded = _check_points(Y, "Y")
    if len(embedded) != alpha.shape[1]:
        raise _invalid("Y", f"an array with {alpha.shape[1]} rows, like X", len(embedded))
    return alpha @ embedded


def cover_points(Y: Any, m: int) -> Cover:
    """Bound the entropy numbers ε_1(Y), ..., ε_m(Y) with a farthest-point (Gonzalez) cover.

    The exact numbers are NP-hard. The m centers and the point that is then farthest are m + 1
    points with pairwise distances of at least ``radius``. Two of them share a ball of any cover by
    m balls, so that radius / 2 ≤ ε_m(Y) ≤ radius. It takes O(nm) distances.
    """
    points = _check_points(Y, "Y")
    n = len(points)
    _check_count(m, "m", low=1, high=n)
    centers, labels, radii = np.empty(m, np.int64), np.zeros(n, np.int64), np.empty(m)
    distances, free = np.full(n, np.inf), np.ones(n, bool)
    center = cdist(points.mean(axis=0, keepdims=True), points)[0].argmin()
    for j in range(m):
        to_center = cdist(points[[center]], points)[0]
        closer = to_center < distances
        # A center joins its own cluster even if it equals an earlier one: none may be empty.
        closer[center], free[center] = True, False
        labels[closer], distances[closer] = j, to_center[closer]
        centers[j], radii[j] = center, distances.max()
        center = np.where(free, distances, -1.0).argmax()
    return Cover(centers, labels, radii)


def estimate_embedding(
    Y: Any,
    alpha: Any,
    labels: Any,
    *,
    n_draws: int = 1,
    rng: int | np.random.Generator | None = None,
) -> Estimate:
    """Estimate y_q by Eq. (5), ``n_draws`` times.

    From a cluster of mass C_j = Σ α_i, ℓ_j = ⌊m C_j + 1⌋ points are drawn with probabilities
    α_i / C_j; these are at most 2m points in total (Lemma 2).

    Examples
    --------
    >>> Y, alpha = [[0.0], [0.1], [5.0], [5.1]], [0.25, 0.25, 0.5, 0.0]
    >>> labels = cover_points(Y, 2).labels
    >>> estimate = estimate_embedding(Y, alpha, labels, n_draws=1000, rng=0)
    >>> print(estimate.y.mean().round(2), estimate_moments(Y, alpha, labels).mean)
    2.53 [2.525]
    """
    clusters = _check_clusters(Y, alpha, labels)
    _check_count(n_draws, "n_draws", low=1)
    generator, drawn = np.random.default_rng(rng), []
    # With C_j = 0 the probabilities are 0 / 0, but Eq. (5) gives the draw the weight C_j / ℓ_j = 0,
    # so that nothing needs to be drawn.
    nonzero = np.flatnonzero(clusters.mass)
    for j in nonzero:
        rows = np.flatnonzero(clusters.labels == j)
        probabilities = clusters.alpha[rows] / clusters.mass[j]
        drawn.append(generator.choice(rows, (n_draws, clusters.n_draws[j]), p=probabilities))
    indices = np.concatenate(drawn, axis=1)
    n_each = clusters.n_draws[nonzero]
    scale = np.repeat(clusters.mass[nonzero] / n_each, n_each)
    return Estimate(np.einsum("l,qlr->qr", scale, clusters.Y[indices]), indices)


def estimate_moments(Y: Any, alpha: Any, labels: Any) -> Moments:
    """Return the exact mean and variance of the estimate, from the proof of Lemma 3.

    The mean is y_q of Eq. (4), the variance Σ_j C_j² / ℓ_j · Var(y_u) with u drawn from cluster j.
    """
    clusters = _check_clusters(Y, alpha, labels)
    mass = clusters.mass[clusters.labels]
    probabilities = np.divide(clusters.alpha, mass, out=np.zeros_like(mass), where=mass > 0)
    means = np.zeros((len(clusters.mass), clusters.Y.shape[1]))
    np.add.at(means, clusters.labels, probabilities[:, None] * clusters.Y)
    spread = ((clusters.Y - means[clusters.labels]) ** 2).sum(axis=1)
    variance = np.sum(mass**2 / clusters.n_draws[clusters.labels] * probabilities * spread)
    return Moments(clusters.alpha @ clusters.Y, float(variance))


def variance_bound(epsilon: float, m: int) -> float:
    """Return ε² / m, the bound of Lemma 3 on the variance with m balls of radius ε."""
    # Var(y_u) ≤ ε² because a cluster has a smaller spread around its mean than around its center.
    # The printed proof then replaces C_j² / (m C_j) by C_j² / m and Σ C_j² by 1. Neither is correct
    # with several clusters, but the term is C_j / m and Σ C_j = 1, so that the bound holds.
    radius = _check_radius(epsilon)
    return radius * radius / _check_count(m, "m", low=1)


def tail_bound(epsilon: float, n_prime: int, t: float) -> float:
    """Return 2 ε² / (n' t²), the bound of Theorem 4 on Pr(‖ŷ_q - y_q‖ ≥ t) with m = n' / 2.

    A value above 1 has no meaning. The strict inequality of the theorem needs ε > 0; otherwise both
    sides are 0.
    """
    ratio = _check_radius(epsilon) / _check_positive(t, "t")
    if _check_count(n_prime, "n_prime", low=2) % 2:
        raise _invalid("n_prime", "even", n_prime)
    return 2 * ratio * ratio / n_prime


def sufficient_size(epsilon: float, delta: float, t: float) -> int:
    """Return the smallest even n' ≥ 2 ε² / (δ t²), for which Pr(‖ŷ_q - y_q‖ < t) ≥ 1 - δ.

    In Corollary 5 ε depends on n'. Because ε_m never increases with m, the radius of a cover by m
    balls is sufficient if 2m ≤ n'; otherwise take n' = 2m.
    """
    ratio = Fraction(_check_radius(epsilon)) / Fraction(_check_positive(t, "t"))
    probability = _check_positive(delta, "delta")
    if probability >= 1:
        raise _invalid("delta", "below 1", delta)
    # Fractions, because a float rounded down would break the bound, and t² may underflow.
    return 2 * max(math.ceil(ratio**2 / Fraction(probability)), 1)


def _invalid(name: str, requirement: str, value: object) -> ParameterError:
    return ParameterError(name, "prototype", requirement, value)


def _check_number(value: Any, name: str, kind: type, article: str) -> None:
    """Raise unless a value is a number of a kind; booleans are not."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
        raise ParameterTypeError(name, "prototype", article, repr(value))


def _check_count(value: Any, name: str, *, low: int, high: int | None = None) -> int:
    _check_number(value, name, numbers.Integral, "an integer")
    if value < low:
        raise _invalid(name, f"at least {low}", value)
    if high is not None and value > high:
        raise _invalid(name, f"at most n={high}", value)
    return int(value)


def _check_positive(value: Any, name: str) -> float:
    _check_number(value, name, numbers.Real, "a number")
    if not 0 < float(value) < math.inf:
        raise _invalid(name, "positive and finite", value)
    return float(value)


def _check_radius(epsilon: Any) -> float:
    _check_number(epsilon, "epsilon", numbers.Real, "a number")
    if not 0 <= float(epsilon) < math.inf:
        raise _invalid("epsilon", "finite and at least 0", epsilon)
    return float(epsilon)


def _check_points(values: Any, name: str) -> Float64Array:
    array = np.asarray(values, np.float64)
    if array.ndim != 2 or array.size == 0:
        raise _invalid(name, "a matrix with at least one row and column", f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise _invalid(name, "finite", "NaN or infinity")
    return array


def _check_weights(alpha: Any) -> Float64Array:
    array = np.asarray(alpha, np.float64)
    if array.ndim != 1:
        raise _invalid("alpha", "1-dimensional, the weights of one query", f"shape {array.shape}")
    if not ((array >= 0).all() and abs(array.sum() - 1) < 1e-6):
        raise _invalid("alpha", "weights of at least 0 that sum to 1", f"sum {array.sum()}")
    return array


def _check_labels(labels: Any, n: int) -> Int64Array:
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise _invalid("labels", f"{n} integers", f"shape {array.shape} of {array.dtype}")
    found = np.unique(array)
    if not np.array_equal(found, np.arange(len(found))):
        raise _invalid("labels", "0 to m - 1, each at least once", found)
    return array.astype(np.int64)


class _WeightedClusters(NamedTuple):
    """The arguments, with the mass C_j and the number of draws ℓ_j of each cluster."""

    Y: Float64Array
    alpha: Float64Array
    labels: Int64Array
    mass: Float64Array
    n_draws: Int64Array


def _check_clusters(Y: Any, alpha: Any, labels: Any) -> _WeightedClusters:
    embedded, weights = _check_points(Y, "Y"), _check_weights(alpha)
    if len(embedded) != len(weights):
        raise _invalid("alpha", f"{len(embedded)} weights, one per row of Y", len(weights))
    clusters = _check_labels(labels, len(weights))
    mass = np.bincount(clusters, weights).astype(np.float64)
    n_draws = np.floor(len(mass) * mass + 1).astype(np.int64)
    return _WeightedClusters(embedded, weights, clusters, mass, n_draws)
