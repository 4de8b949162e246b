"""Step 1, the base set: a few points that stand for all (Alg. 1, line 1).

A strategy chooses m points of the data, or near them; every other point will be carried into the
embedding by the chosen ones nearest to it.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import randomized_svd

from bitfold import _checks
from bitfold._rows import Rows

FloatArray = NDArray[np.float32]
Indices = NDArray[np.int64]
OnStep = Callable[[int, int], None]

SAMPLE_BYTES = 320 << 20
"""What the sample that a base set is learned from may weigh."""


FEWEST, ROWS_EACH = 400, 10
"""Base points of small data, and training rows that call for one more."""

FEW_ROWS = 20 * FEWEST
"""Rows up to which the fewest base points do."""

BUDGET = 6
"""How much more work than with the fewest base points the automatic size may take."""

PROJECT_FROM, PROJECTED = 1024, 64
"""Centres beyond which k-means works along this many principal directions."""

_MOST_FILLS = 30
"""Rounds of moving empty centres; a dozen were the most seen, with nine in ten rows repeated."""


class LabelledBase(NamedTuple):
    """A base set chosen class by class (Alg. 2, line 1)."""

    points: FloatArray
    labels: NDArray[Any]


class BaseStrategy(BaseEstimator, ABC):
    """How to choose the base set; a subclass gives ``_choose``, from a sample in memory.

    Parameters
    ----------
    m
        Number of base points; "auto" has as many as the data and the time allow, see
        :func:`automatic_size`. Data with no more than m distinct rows become their own base set:
        the exact form of Eq. (4).
    """

    def __init__(self, m: int | str = "auto") -> None:
        self.m = m

    def size(self, n: int, n_features: int) -> Size:
        """Return how many base points there will be for so many rows, and why."""
        if self.m == "auto":
            return automatic_size(n, n_features)
        if isinstance(self.m, str):
            _checks.refuse("m", type(self).__name__, 'an integer or "auto"', repr(self.m))
        m = _checks.integer(self.m, "m", type(self).__name__, low=1)
        return Size(m, "as asked for")

    def choose(
        self, X: Rows | Any, *, rng: _checks.Seed = None, on_step: OnStep | None = None
    ) -> FloatArray:
        """Choose m base points, one a row.

        Parameters
        ----------
        X
            Training data.
        rng
            Generator or seed.
        on_step
            Called with (done, total) as the work goes on.
        """
        rows = self._as_rows(X)
        m = self.size(len(rows), rows.n_features).m
        rng = _checks.generator(rng)
        sample = rows.sample(sample_size(len(rows), rows.n_features, m), rng)
        return self._from_sample(sample, m, rng, on_step)

    def choose_per_class(
        self, X: Rows | Any, y: Any, *, rng: _checks.Seed = None, on_step: OnStep | None = None
    ) -> LabelledBase:
        """Share the m base points out over the classes and choose each class's (Alg. 2, line 1).

        Parameters
        ----------
        X
            Training data.
        y
            A label for each row; -1 is unlabelled and belongs to no class.
        rng
            Generator or seed.
        on_step
            Called with (done, total) as the work goes on.
        """
        rows = self._as_rows(X)
        rng = _checks.generator(rng)
        y = _checks.labels(y, len(rows), type(self).__name__)
        labelled = is_labelled(y)
        classes, sizes = np.unique(y[labelled], return_counts=True)
        if not len(classes):
            _checks.refuse("y", type(self).__name__, "labels of at least 1 class", "only -1")
        m = self.size(len(rows), rows.n_features).m
        m = _checks.integer(m, "m", type(self).__name__, low=2 * len(classes))
        parts, names = [], []
        for step, (label, share) in enumerate(zip(classes, share_out(m, sizes), strict=True)):
            members = np.flatnonzero(labelled & (y == label))
            limit = sample_size(len(members), rows.n_features, share)
            if limit < len(members):
                members = np.sort(rng.choice(members, limit, replace=False))
            parts.append(self._from_sample(rows.take(members), share, rng, None))
            names.append(np.full(len(parts[-1]), label))
            if on_step:
                on_step(step + 1, len(classes))
        return LabelledBase(np.concatenate(parts), np.concatenate(names))

    def _as_rows(self, X: Rows | Any) -> Rows:
        if isinstance(X, Rows):
            return X
        owner = type(self).__name__
        matrix = _checks.matrix(X, owner)
        return Rows(matrix, np.zeros(matrix.shape[1], np.float32), owner)

    def _from_sample(
        self, sample: FloatArray, m: int, rng: np.random.Generator, on_step: OnStep | None
    ) -> FloatArray:
        distinct = distinct_rows(sample, at_most=m)
        if distinct is None:
            return self._choose(sample, m, rng, on_step)
        if len(distinct) < m and self.m != "auto":
            warnings.warn(
                f"{m} base points were asked for, but there are only {len(distinct)} distinct "
                f"rows; all of them form the base set.",
                stacklevel=4,
            )
        return distinct

    @abstractmethod
    def _choose(
        self, sample: FloatArray, m: int, rng: np.random.Generator, on_step: OnStep | None
    ) -> FloatArray:
        """Choose from a sample with more than m distinct rows."""


class RandomBase(BaseStrategy):
    """Random training samples, all distinct.

    Examples
    --------
    >>> RandomBase(2).choose([[0.0], [1.0], [2.0]], rng=0).shape
    (2, 1)
    """

    def _choose(
        self, sample: FloatArray, m: int, rng: np.random.Generator, on_step: OnStep | None
    ) -> FloatArray:
        return sample[first_distinct(sample, rng.permutation(len(sample)), m)]


class KMeansBase(BaseStrategy):
    """Centres of K-means, the paper's choice: least distortion for m points.

    Parameters
    ----------
    m
        Number of base points, or "auto".
    n_iter
        Lloyd iterations.

    Examples
    --------
    >>> KMeansBase(2).choose([[0.0], [1.0], [10.0], [11.0]], rng=0).ravel().tolist()
    [0.5, 10.5]
    """

    def __init__(self, m: int | str = "auto", n_iter: int = 20) -> None:
        super().__init__(m)
        self.n_iter = n_iter

    def _choose(
        self, sample: FloatArray, m: int, rng: np.random.Generator, on_step: OnStep | None
    ) -> FloatArray:
        n_iter = _checks.integer(self.n_iter, "n_iter", type(self).__name__, low=1)
        return kmeans(sample, m, n_iter, rng, on_step)


class KMediansBase(BaseStrategy):
    """Medoids: the training sample of each cluster with the least total distance to the others.

    Starts from K-means and alternates assignment and choice of medoids; its points are real
    samples, as in the paper's K-medians.

    Parameters
    ----------
    m
        Number of base points, or "auto".
    n_iter
        Iterations, of K-means and then, at most, of the medoids.
    """

    def __init__(self, m: int | str = "auto", n_iter: int = 20) -> None:
        super().__init__(m)
        self.n_iter = n_iter

    def _choose(
        self, sample: FloatArray, m: int, rng: np.random.Generator, on_step: OnStep | None
    ) -> FloatArray:
        n_iter = _checks.integer(self.n_iter, "n_iter", type(self).__name__, low=1)
        return kmedoids(sample, m, n_iter, rng, on_step)


def sample_size(n: int, n_features: int, m: int) -> int:
    """How many rows a base set is learned from: 256 a point, within reason for time and memory.

    Beyond that, more rows hardly move a centre; below 64 a point they would.
    """
    return min(n, max(64 * m, min(256 * min(m, 1000), SAMPLE_BYTES // (4 * n_features))))


class Size(NamedTuple):
    """A number of base points, and why it is that."""

    m: int
    why: str


def automatic_size(n: int, n_features: int) -> Size:
    """As many base points as there are data to tell their neighbourhoods, and time.

    MAP rises with m for as long as every base point has some ten training points: fewer no
    longer tell who its neighbours are on the manifold. Work, which grows faster than m, is held
    to six times that of 400 base points.

    Parameters
    ----------
    n
        Training rows.
    n_features
        Their width.
    """
    if n <= FEW_ROWS:
        return Size(min(n, FEWEST), f"all that {n:,} rows call for")
    m = n // ROWS_EACH
    most = next(
        size for size in range(m - m % 50, 0, -50)
        if size <= FEWEST or work(n, n_features, size) <= BUDGET * work(n, n_features, FEWEST)
    )  # fmt: skip
    if most < m - m % 50:
        return Size(most, f"as much work as {BUDGET} times that of {FEWEST}, for {n:,} rows")
    return Size(m, f"one for {ROWS_EACH} of {n:,} rows")


def work(n: int, n_features: int, m: int) -> float:
    """Estimate the arithmetic of fitting: k-means, the nearest base points, an embedding."""
    width = PROJECTED if projects(n_features, m) else n_features
    clusters = 20.0 * 2 * sample_size(n, n_features, m) * m * width
    neighbours = 2.0 * min(n, 256 * m) * m * width
    # Of so many base points, t-SNE no longer looks at every pair.
    pairs = m * (m if m <= 4096 else 1500)
    return clusters + neighbours + 500.0 * 4 * pairs * 64


def projects(n_features: int, m: int) -> bool:
    """Tell whether k-means works along principal directions: many centres in many dimensions."""
    return m > PROJECT_FROM and n_features > 2 * PROJECTED


def share_out(m: int, sizes: Indices) -> list[int]:
    """Share m points out in proportion to class sizes, at least two a class (or all it has)."""
    floor = np.minimum(2, sizes)
    exact = floor + (m - floor.sum()) * sizes / sizes.sum()
    shares = np.floor(exact).astype(int)
    largest_remainders = np.argsort(shares - exact, kind="stable")[: m - shares.sum()]
    shares[largest_remainders] += 1
    return [int(s) for s in shares]


def is_labelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows have a label; -1 means none, as in scikit-learn."""
    if y.dtype.kind in "iuf":
        return np.asarray(y != -1)
    return np.array([label != -1 for label in y], bool)


def distinct_rows(points: FloatArray, at_most: int) -> FloatArray | None:
    """Return the distinct rows if there are no more than ``at_most``, else None."""
    # Equal rows have equal projections, and counting those is cheap.
    direction = np.cos(np.arange(1, points.shape[1] + 1)).astype(np.float32)
    shadows = np.einsum("ij,j->i", points, direction)
    if len(np.unique(shadows)) > at_most:
        return None
    distinct = np.unique(points, axis=0)
    return distinct if len(distinct) <= at_most else None


def kmeans(
    points: FloatArray,
    m: int,
    n_iter: int,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> FloatArray:
    """K-means by faiss, one Lloyd iteration at a time, without empty clusters.

    Many centres are found along the leading principal directions, which hold most of every
    distance; the centres of what was found are then taken in all dimensions. The points must have
    more than m distinct rows.
    """
    framed = _framed(points)
    if not projects(points.shape[1], m):
        centres = _centres(framed.points, m, n_iter, rng, on_step)
    else:
        seen = framed.points @ _principal(framed.points)
        found = _centres(seen, m, n_iter, rng, on_step)
        _, nearest = faiss.knn(seen, found, 1)
        centres = _means(framed.points, nearest[:, 0], m)
    return (framed.centre + np.float64(framed.scale) * centres).astype(np.float32)


def _centres(
    points: FloatArray, m: int, n_iter: int, rng: np.random.Generator, on_step: OnStep | None
) -> FloatArray:
    seed = int(rng.integers(2**31))
    centres: FloatArray | None = None
    for step in range(n_iter):
        centres = _lloyd(points, m, seed, centres)
        if on_step:
            on_step(step + 1, n_iter)
    assert centres is not None  # n_iter is at least 1
    return _fill_empty(points, centres)


def _principal(points: FloatArray) -> FloatArray:
    """Return the leading principal directions as columns; some points suffice."""
    some = points[:: max(1, len(points) // 10_000)]
    _, _, directions = randomized_svd(some - some.mean(axis=0), PROJECTED, random_state=0)
    return np.ascontiguousarray(directions.T, np.float32)


def _means(points: FloatArray, cluster: Indices, m: int) -> FloatArray:
    """Return the mean of each cluster, none of which is empty."""
    sizes = np.bincount(cluster, minlength=m)
    order = np.argsort(cluster, kind="stable")
    starts = np.cumsum(sizes) - sizes
    means = np.empty((m, points.shape[1]), np.float32)
    for j in range(m):
        means[j] = points[order[starts[j] : starts[j] + sizes[j]]].mean(axis=0, dtype=np.float64)
    return means


class _Framed(NamedTuple):
    """Points as (points - centre) / scale."""

    points: FloatArray
    centre: FloatArray
    scale: np.float32


def _framed(points: FloatArray) -> _Framed:
    """Bring points to where float32 products neither cancel nor overflow, if they are not there.

    Far from the origin |x|² - 2 x·c + |c|² cancels to noise; too large or too small it is not a
    number that faiss could compare.
    """
    some = points[:: max(1, len(points) // 1000)].astype(np.float64)
    centre = np.median(some, axis=0)  # unlike a mean, not led astray by an outlier
    sq_spread = np.median(((some - centre) ** 2).sum(axis=1))
    reach = np.maximum(points.max(axis=0) - centre, centre - points.min(axis=0)).max()
    if centre @ centre <= 4 * sq_spread and 1e-9 < reach < 1e9:
        return _Framed(points, np.zeros(len(centre), np.float32), np.float32(1))
    near = points - centre.astype(np.float32)
    scale = np.float32(np.exp2(np.floor(np.log2(reach))))  # a power of two does not round
    near /= scale
    return _Framed(near, centre.astype(np.float32), scale)


def _lloyd(points: FloatArray, m: int, seed: int, centres: FloatArray | None) -> FloatArray:
    run = faiss.Kmeans(
        points.shape[1],
        m,
        niter=1,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),
        check_input_data_for_NaNs=False,
    )
    run.train(points, init_centroids=centres)
    return np.asarray(run.centroids)


def _fill_empty(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Give every centre at least one point: an empty one moves to the worst served point."""
    for _ in range(_MOST_FILLS):
        distances, nearest = faiss.knn(points, centres, 1)
        empty = np.flatnonzero(np.bincount(nearest[:, 0], minlength=len(centres)) == 0)
        if not len(empty):
            return centres
        worst_served = np.argsort(-distances[:, 0], kind="stable")
        moved = first_distinct(points, worst_served, len(empty))
        centres[empty[: len(moved)]] = points[moved]
    return centres


def first_distinct(points: FloatArray, order: Indices, count: int) -> Indices:
    """Return the first ``count`` indices along ``order`` that have distinct points."""
    # Duplicates are rare: comparing a few more than wanted is far cheaper than comparing all.
    for size in (2 * count, 16 * count, len(order)):
        _, first = np.unique(points[order[:size]], axis=0, return_index=True)
        if len(first) >= count:
            break
    return order[np.sort(first)[:count]]


def kmedoids(
    points: FloatArray,
    m: int,
    n_iter: int,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> FloatArray:
    """Alternate assignment and medoids from a K-means start (Park and Jun, 2009)."""
    near = _framed(points).points
    _, start = faiss.knn(kmeans(near, m, n_iter, rng, on_step), near, 1)
    medoids = np.unique(start[:, 0])
    for _ in range(n_iter):
        _, nearest = faiss.knn(near, near[medoids], 1)
        cluster = nearest[:, 0]
        moved = np.unique(
            [_medoid(near, np.flatnonzero(cluster == j), rng) for j in np.unique(cluster)]
        )
        if np.array_equal(moved, medoids):
            break
        medoids = moved
    distances, _ = faiss.knn(near, near[medoids], 1)
    farthest = np.argsort(-distances[:, 0], kind="stable")
    # Two centres may have shared a nearest sample; the worst served points make up for them.
    return points[np.sort(first_distinct(points, np.concatenate([medoids, farthest]), m))]


def _medoid(points: FloatArray, members: Indices, rng: np.random.Generator) -> int:
    """Return the member with the least total distance to the members (to 512 of a large class)."""
    witnesses = members if len(members) <= 512 else rng.choice(members, 512, replace=False)
    sq_norms = np.einsum("ij,ij->i", points[members], points[members])
    products = points[members] @ points[witnesses].T
    witness_norms = np.einsum("ij,ij->i", points[witnesses], points[witnesses])
    sq = sq_norms[:, None] - 2 * products + witness_norms
    return int(members[np.argmin(np.sqrt(np.maximum(sq, 0)).sum(axis=1))])
