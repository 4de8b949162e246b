"""Locality-sensitive hashing for a Mahalanobis metric: random hyperplanes in its space."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from bitfold import _validation
from bitfold._linalg.principal import covariance
from bitfold._linalg.scatter import measure_scatter
from bitfold._linalg.spectral import square_root
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers._labels import SupervisedMixin, find_labeled_rows
from bitfold.hashers.base.linear import LinearHasher
from bitfold.hashers.lsh import draw_directions, pass_through_origin
from bitfold.io.rows import Rows

METRICS = ("labels", "covariance")
"""The metrics that can be learned; the first is the default."""

_TINY = float(np.finfo(np.float32).tiny)

_RELATIVE_ZERO = 1e-9
"""Eigenvalues of a metric below this fraction of the largest are rounding errors."""

_ASYMMETRY = 1e-6
"""Largest accepted difference of a metric from its transpose, and largest negative eigenvalue, as
fractions of its largest value."""


def covariance_metric(total: Float64Array, regularization: float) -> Float64Array:
    """Return the inverse of a covariance.

    Parameters
    ----------
    total
        Covariance of all rows.
    regularization
        Added to all variances, in units of their mean.

    Returns
    -------
    The matrix A of the distance (x - x')ᵀ A (x - x').
    """
    return _invert(total + _ridge(total, regularization))


def discriminative_metric(
    within: Float64Array, total: Float64Array, regularization: float
) -> Float64Array:
    """Return the inverse covariance within classes minus that of all rows.

    For normal distributions, (x - x')ᵀ A (x - x') is then the log-likelihood ratio of two rows of
    one class and any two rows, up to a constant. Directions in which classes do not differ have
    the distance 0.

    Parameters
    ----------
    within
        Covariance around the class means.
    total
        Covariance of all rows.
    regularization
        Added to all variances of both, in units of the mean variance of all rows.

    Returns
    -------
    The matrix A, without negative eigenvalues except by rounding.
    """
    ridge = _ridge(total, regularization)
    return _invert(within + ridge) - _invert(total + ridge)


def _invert(matrix: Float64Array) -> Float64Array:
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _ridge(total: Float64Array, regularization: float) -> Float64Array:
    variance = max(float(np.trace(total)) / len(total), _TINY)
    return np.diag(np.full(len(total), regularization * variance))


def check_metric(metric: Any, n_features: int, owner: str) -> Float64Array:
    """Return a given metric as a symmetric matrix; raise if it does not define distances.

    Parameters
    ----------
    metric
        The matrix A of the distance (x - x')ᵀ A (x - x').
    n_features
        Number of rows and columns that it must have.
    owner
        Class that is named in the error.

    Returns
    -------
    The matrix.

    Raises
    ------
    ParameterError
        If it has another shape, is not finite or not symmetric, or has a negative eigenvalue.
    """
    requirement = f"one of {', '.join(map(repr, METRICS))}, or a matrix of numbers"
    try:
        A = np.asarray(metric, np.float64)
    except (TypeError, ValueError):
        _validation.raise_invalid("metric", owner, requirement, repr(metric)[:50])
    if A.ndim != 2:
        _validation.raise_invalid("metric", owner, requirement, repr(metric)[:50])
    if A.shape != (n_features, n_features):
        requirement = f"of shape {(n_features, n_features)}, like the features of X"
        _validation.raise_invalid("metric", owner, requirement, f"shape {A.shape}")
    largest = np.abs(A).max()
    if not np.isfinite(largest):
        _validation.raise_invalid("metric", owner, "finite", "NaN or infinity")
    if np.abs(A - A.T).max() > _ASYMMETRY * largest:
        _validation.raise_invalid("metric", owner, "symmetric", "another matrix")
    symmetric: Float64Array = (A + A.T) / 2
    lowest = float(np.linalg.eigvalsh(symmetric)[0])
    if not largest > 0 or lowest < -_ASYMMETRY * largest:
        requirement = "a matrix without negative eigenvalues that is not zero"
        _validation.raise_invalid("metric", owner, requirement, f"the eigenvalue {lowest:g}")
    return symmetric


class MahalanobisLSH(SupervisedMixin, LinearHasher):
    """Random hyperplanes for a learned or given Mahalanobis metric.

    For the distance (x - x')ᵀ A (x - x') with A = GᵀG, a bit is the sign of r·Gx for a random r. It
    separates two vectors with the probability of their angle after the map G, divided by π.

    Parameters
    ----------
    n_bits
        Length of the codes.
    metric
        The matrix A, or how to learn it. ``"labels"``: the inverse covariance within classes minus
        that of all labeled rows, which keeps the directions in which classes differ; rows labeled
        -1 are ignored. ``"covariance"``: the inverse covariance of all rows, without labels. A
        matrix can come from any metric learner. It is not saved with the model, whose
        ``directions_`` include it.
    regularization
        Added to the variance of every feature before a covariance is inverted, in units of the
        mean variance.
    center
        Whether the hyperplanes pass through the mean of the training data. Otherwise they pass
        through the origin, as in the original.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit.
    thresholds_
        Offset of each hyperplane along its normal.

    Notes
    -----
    The original learns A by information-theoretic metric learning from pairs; its implementations
    return a matrix that can be given as ``metric``. The closed form of ``"labels"`` is that of
    Köstinger et al., with all pairs in place of the pairs of different classes. It has one
    direction less than there are classes, as in linear discriminant analysis.

    References
    ----------
    Kulis, Jain and Grauman, *Fast similarity search for learned metrics*, PAMI 2009.

    Köstinger, Hirzer, Wohlhart, Roth and Bischof, *Large scale metric learning from equivalence
    constraints*, CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import MahalanobisLSH
    >>> X, y = load_digits(return_X_y=True)
    >>> MahalanobisLSH(n_bits=32, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    _matrix_params = frozenset({"metric"})

    def __init__(
        self,
        n_bits: int = 64,
        *,
        metric: Any = "labels",
        regularization: float = 0.1,
        center: bool = True,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.metric = metric
        self.regularization = regularization
        self.center = center
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        _validation.check_choice(self.center, "center", owner, (True, False))
        regularization = _validation.check_positive(self.regularization, "regularization", owner)
        rng = _validation.make_generator(self.random_state)
        A = self._choose_metric(rows, y, regularization)
        progress("metric", 1, 1)
        # The symmetric root does not depend on rounding where eigenvalues are equal.
        W = draw_directions(n_bits, rows.n_features, rng) @ square_root(A, _RELATIVE_ZERO)
        return self._fitted_hyperplanes(W, None if self.center else pass_through_origin(W, rows))

    def _choose_metric(self, rows: Rows, y: Any, regularization: float) -> Float64Array:
        owner = rows.owner
        if not isinstance(self.metric, str):
            return check_metric(self.metric, rows.n_features, owner)
        if _validation.check_choice(self.metric, "metric", owner, METRICS) == "covariance":
            return covariance_metric(covariance(rows), regularization)
        labeled = find_labeled_rows(y, len(rows), owner)
        labeled.require_pair(owner)
        scatter = measure_scatter(rows, labeled.rows, labeled.classes)
        return discriminative_metric(scatter.within, scatter.covariance, regularization)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = isinstance(self.metric, str) and self.metric == "labels"
        return tags
