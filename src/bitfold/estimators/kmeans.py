"""HammingKMeans: clusters of codes around majority codes."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bitfold import _validation
from bitfold._kernels import distinct, majority
from bitfold._threads import map_blocks
from bitfold._types import Int32Array, Int64Array, Seed, UInt8Array, Words
from bitfold.codes import Codes, count_bytes
from bitfold.estimators.binarize import to_codes

_CODES_PER_BLOCK = 1 << 14
"""Number of codes that a thread compares with all centers."""

_SEEDING_CODES_PER_CLUSTER = 32
"""Number of codes per cluster that the first centers are chosen among. More would hardly change the
result and take as long as several iterations. So few codes are not split over threads."""

_MIN_SEEDING_CODES = 1 << 14


class MajorityClusters(NamedTuple):
    """Result of :func:`k_majority`.

    Parameters
    ----------
    centers
        The majority codes as words, one row per cluster.
    labels
        The cluster of each code.
    inertia
        Sum of the distances of all codes to their centers.
    n_iter
        Number of iterations.
    """

    centers: Words
    labels: Int32Array
    inertia: int
    n_iter: int


class HammingKMeans(ClusterMixin, BaseEstimator):
    """Cluster codes by Hamming distance: k-means whose centers are codes (k-majority).

    Each code belongs to the nearest center, ties to the first. Each bit of a center is the bit of
    most codes of its cluster. The first centers are chosen by greedy k-means++. Equal codes are
    compared once, and all comparisons are exact. The result is the same for any number of threads.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    max_iter
        Maximum number of iterations.
    tol
        The iterations end when one lowers the inertia by less than this fraction, or when no
        center changes.
    binarize
        Numbers above this threshold are bits 1, as in
        :class:`sklearn.naive_bayes.BernoulliNB`. None accepts only 0 and 1. It has no effect on
        :class:`bitfold.Codes`.
    random_state
        Seed or generator for the first centers.

    Attributes
    ----------
    cluster_centers_
        The centers as 0 and 1, one row per cluster; ``Codes.from_bits`` packs them.
    labels_
        The cluster of each training code.
    inertia_
        Sum of the Hamming distances of the training codes to their centers.
    n_iter_
        Number of iterations.
    n_features_in_
        Number of bits.

    Examples
    --------
    >>> codes = Codes.from_bits([[0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 1]])
    >>> kmeans = HammingKMeans(n_clusters=2, random_state=0).fit(codes)
    >>> bool(kmeans.labels_[0] == kmeans.labels_[1] != kmeans.labels_[2])
    True
    >>> kmeans.inertia_
    2
    """

    cluster_centers_: UInt8Array
    labels_: Int32Array

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_iter: int = 100,
        tol: float = 1e-4,
        binarize: float | None = 0.0,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X
            :class:`bitfold.Codes`, or an array of numbers, one row per code.
        y
            Not used.

        Returns
        -------
        The estimator itself.

        Raises
        ------
        ParameterError
            If a parameter is not valid, or there are more clusters than codes.
        """
        owner = type(self).__name__
        codes = to_codes(self, X, self.binarize, reset=True)
        limit = f"n_samples={len(codes)}"
        k = _validation.check_integer(
            self.n_clusters, "n_clusters", owner, low=1, high=len(codes), why=limit
        )
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=1)
        tol: Any = self.tol
        if not (isinstance(tol, (int, float, np.number)) and 0 <= tol < 1):
            _validation.raise_invalid("tol", owner, "a number from 0 to below 1", self.tol)
        rng = _validation.make_generator(self.random_state)
        found = k_majority(codes.words(), k, max_iter, float(self.tol), rng)
        self.cluster_centers_ = _to_codes(found.centers, codes.n_bits).unpack()
        self.labels_, self.inertia_, self.n_iter_ = found[1:]
        return self

    def predict(self, X: Any) -> Int32Array:
        """Return the nearest center of each code, ties to the first.

        Parameters
        ----------
        X
            :class:`bitfold.Codes`, or an array of numbers, one row per code.

        Returns
        -------
        The number of a cluster per code.

        Raises
        ------
        ParameterError
            If the codes have another length than in ``fit``.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self)
        codes = to_codes(self, X, self.binarize, reset=False)
        centers = Codes.from_bits(self.cluster_centers_).words()
        return _assign(np.ascontiguousarray(codes.words().T), centers)[0]


def k_majority(
    words: Words, k: int, max_iter: int, tol: float, rng: np.random.Generator
) -> MajorityClusters:
    """Cluster codes around majority codes.

    Parameters
    ----------
    words
        The codes, one row per code.
    k
        Number of clusters, at most the number of codes.
    max_iter
        Maximum number of iterations.
    tol
        Fraction of the inertia that an iteration must save to be followed by another.
    rng
        Generator of the first centers.

    Returns
    -------
    The clusters. A cluster is empty only if there are fewer distinct codes, or if it becomes empty
    in the last of ``max_iter`` iterations.

    Examples
    --------
    >>> words = np.array([[0b0001], [0b0000], [0b1111], [0b1101]], np.uint64)
    >>> k_majority(words, 2, 10, 0.0, np.random.default_rng(0)).inertia
    2
    """
    rows, code_of = distinct.group_rows(words)
    weights = np.bincount(code_of, minlength=len(rows)).astype(np.int64)
    if len(rows) < k:
        warnings.warn(
            f"There are only {len(rows)} distinct codes for {k} clusters; some clusters are empty.",
            ConvergenceWarning,
            stacklevel=3,
        )
    columns = np.ascontiguousarray(rows.T)
    centers = rows[_choose_seeds(columns, weights, k, rng)]
    labels, distances = _assign(columns, centers)
    inertia, n_iter = int(distances @ weights), 0
    while n_iter < max_iter:
        n_iter += 1
        moved, n_changed = _move_centers(columns, weights, labels, distances, centers)
        if not n_changed:
            break
        centers, before = moved, inertia
        labels, distances = _assign(columns, centers)
        inertia = int(distances @ weights)
        has_empty = len(np.unique(labels)) < min(k, len(rows))
        if before - inertia < tol * before and not has_empty:
            break
    return MajorityClusters(centers, labels[code_of], inertia, n_iter)


def _assign(columns: Words, centers: Words) -> tuple[Int32Array, Int64Array]:
    """Return the nearest center of each code, and its distance."""
    n = columns.shape[1]
    labels, distances = np.empty(n, np.int32), np.empty(n, np.int32)

    def assign(first: int) -> None:
        last = min(first + _CODES_PER_BLOCK, n)
        majority.find_centers(columns, first, last, centers, labels, distances)

    for _ in map_blocks(assign, range(0, n, _CODES_PER_BLOCK)):
        pass
    return labels, distances.astype(np.int64)


def _move_centers(
    columns: Words, weights: Int64Array, labels: Int32Array, distances: Int64Array, centers: Words
) -> tuple[Words, int]:
    """Return the majority codes of the clusters, and how many centers have changed.

    The centers of empty clusters move to the codes that are farthest from their centers.
    """
    counts = np.zeros((len(centers), 64 * len(columns)), np.int64)
    sizes, moved = np.zeros(len(centers), np.int64), centers.copy()
    majority.add_bits(columns, labels, weights, counts, sizes)
    n_changed = majority.take_majorities(counts, sizes, moved)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        farthest = np.argsort(-distances, kind="stable")[: len(empty)]
        farthest = farthest[distances[farthest] > 0]
        moved[empty[: len(farthest)]] = columns[:, farthest].T
        n_changed += len(farthest)
    return moved, n_changed


def _choose_seeds(
    columns: Words, weights: Int64Array, k: int, rng: np.random.Generator
) -> Int64Array:
    """Return the codes that are the first centers, by greedy k-means++.

    Each center is the best of a few codes that were drawn with a probability in proportion to
    their distance to the nearest center so far. Between bits, it is the squared distance.
    """
    n_sampled = max(_MIN_SEEDING_CODES, _SEEDING_CODES_PER_CLUSTER * k)
    if columns.shape[1] > n_sampled:
        sample = np.sort(rng.choice(columns.shape[1], n_sampled, replace=False))
        return sample[_choose_seeds(np.take(columns, sample, axis=1), weights[sample], k, rng)]
    n_trials = 2 + int(np.log(k))
    nearest = np.full(columns.shape[1], 64 * len(columns), np.int64)
    seeds = np.zeros(k, np.int64)
    for c in range(k):
        mass = np.cumsum(nearest * weights)
        if not mass[-1]:  # every distinct code is a center
            break
        drawn = np.searchsorted(mass, rng.integers(mass[-1], size=n_trials), "right")
        totals = majority.sum_distances(columns, drawn, nearest, weights)
        seeds[c] = drawn[np.argmin(totals)]
        majority.lower_distances(columns, seeds[c], nearest)
    return seeds


def _to_codes(words: Words, n_bits: int) -> Codes:
    return Codes(np.ascontiguousarray(words).view(np.uint8)[:, : count_bytes(n_bits)], n_bits)
