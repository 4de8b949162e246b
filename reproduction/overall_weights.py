"""Sec. III-C: which points represent all others best, and why these are cluster centers.

The prototype algorithm draws points by their weights for one query. For all queries at once, the
paper asks for points of high overall weight O_i = Σ_q α_i(x_q), and says that the center of a
cluster has the largest total weight with respect to its members. Both can be computed here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from bitfold.errors import ParameterError
from reproduction.prototype import induction_weights
from reproduction.shared_types import Float64Array

_BLOCK_ROWS = 256


def overall_weights(X: Any, k: int, bandwidth: float) -> Float64Array:
    """Return O_i = Σ_q α_i(x_q) over all points x_q of X; the sum of all O_i is n.

    The weights α are those of Eq. (4), over the k nearest points. A point is its own nearest.

    Examples
    --------
    >>> overall_weights([[0.0], [1.0], [2.0]], k=3, bandwidth=1.0).round(2).tolist()
    [0.93, 1.13, 0.93]
    """
    points = np.asarray(X, np.float64)
    total = np.zeros(len(points))
    for start in range(0, len(points), _BLOCK_ROWS):
        queries = points[start : start + _BLOCK_ROWS]
        total += induction_weights(queries, points, k, bandwidth).sum(axis=0)
    return total


class ClusterWeights(NamedTuple):
    """Total weights with respect to the members of each cluster.

    Attributes
    ----------
    center
        Σ_i w(c_j, x_i) of the mean c_j, over the members x_i.
    best_member
        The largest Σ_i w(x_l, x_i) of a member x_l.
    sufficient_bandwidth
        The bandwidth above which the center is certain to have the largest weight; infinite if a
        member is at the center, which then has the same weight.
    """

    center: Float64Array
    best_member: Float64Array
    sufficient_bandwidth: Float64Array

    @property
    def fraction_won(self) -> float:
        """Fraction of the clusters whose center has at least the weight of every member."""
        return float(np.mean(self.center >= self.best_member * (1 - 1e-12)))


def weigh_clusters(X: Any, labels: Any, bandwidth: float) -> ClusterWeights:
    """Return the total weights w = exp(-d²/σ²) of cluster centers and members.

    ``labels`` are 0 to m - 1; the center of a cluster is its mean.

    With 1 - u ≤ exp(-u) ≤ 1 - u + u²/2, the center has a larger weight than a member at the
    distance r from it if σ² > D² (1 + V / r²) / 2, where V is the mean squared distance to the
    center and D the diameter of the cluster. A narrow kernel favors members instead: each counts
    itself with weight 1.

    Examples
    --------
    >>> square = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> weigh_clusters(square, [0, 0, 0, 0], bandwidth=2.0).fraction_won
    1.0
    >>> weigh_clusters(square, [0, 0, 0, 0], bandwidth=0.3).fraction_won
    0.0
    """
    points, clusters = np.asarray(X, np.float64), np.asarray(labels)
    if clusters.shape != (len(points),):
        raise ParameterError("labels", "weigh_clusters", f"{len(points)} integers", clusters.shape)
    found = [
        _weigh_cluster(points[clusters == j], bandwidth) for j in range(int(clusters.max()) + 1)
    ]
    return ClusterWeights(*np.array(found).T)


def _weigh_cluster(members: Float64Array, bandwidth: float) -> tuple[float, float, float]:
    sq_radii = ((members - members.mean(axis=0)) ** 2).sum(axis=1)
    sq_distances = cdist(members, members, "sqeuclidean")
    sufficient = np.inf
    if sq_radii.min() > 0:
        ratio = 1 + sq_radii.mean() / sq_radii.min()
        sufficient = np.sqrt(sq_distances.max() * ratio / 2)
    weigh = np.exp(-sq_distances / bandwidth**2).sum(axis=1)
    return float(np.exp(-sq_radii / bandwidth**2).sum()), float(weigh.max()), float(sufficient)
