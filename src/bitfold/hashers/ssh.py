"""Semi-supervised hashing: directions that agree with labeled pairs and have large variance."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import covariance, n_bits_within_features
from bitfold._linalg.spectral import largest_eigenvectors
from bitfold._types import (
    Float32Array,
    Float64Array,
    Int64Array,
    ProgressCallback,
    Seed,
    StepCallback,
)
from bitfold.hashers._labels import SupervisedMixin, find_labeled_rows
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows

ALPHA = 0.3
"""Additional weight of pairs that a bit got wrong, for the bits after it."""

_RHO = 0.01
"""Penalty ρ of directions that are not orthogonal, as a fraction of the largest eigenvalue."""

_VARIANTS = ("sequential", "nonorthogonal", "orthogonal")


def pair_labels(classes: Int64Array) -> Float32Array:
    """Return the matrix S: 1 for pairs of the same class, -1 for others."""
    return np.where(classes[:, None] == classes, np.float32(1), np.float32(-1))


def measure_agreement(X: Float32Array, S: Float32Array) -> Float64Array:
    """Return XᵀSX / n²: along w, the mean of S_ij times the projections of rows i and j."""
    product = (X.T @ (S @ X)).astype(np.float64)
    # Rounding makes it slightly asymmetric, which a Cholesky factorization would ignore.
    return (product + product.T) / (2 * len(X) ** 2)


def learn_orthogonal(M: Float64Array, n_bits: int) -> Float64Array:
    """Return the leading eigenvectors of the adjusted covariance M, one per row."""
    return largest_eigenvectors(M, n_bits).vectors.T


def learn_nonorthogonal(M: Float64Array, n_bits: int) -> Float64Array:
    """Return directions that may be correlated, one per row.

    With a penalty ρ |WᵀW - I|² instead of the constraint WᵀW = I, W is L U for the leading
    eigenvectors U of M and the Cholesky factor L of I + M / ρ.

    Parameters
    ----------
    M
        Adjusted covariance.
    n_bits
        Number of directions.

    Returns
    -------
    One direction per row.
    """
    values, vectors = largest_eigenvectors(M, len(M))
    # I + M / ρ must be positive definite.
    rho = max(_RHO * values[0], -2 * values[-1])
    if rho <= 0:
        return vectors[:, :n_bits].T
    L = np.linalg.cholesky(np.eye(len(M)) + M / rho)
    W: Float64Array = L @ vectors[:, :n_bits]
    return W.T


def emphasize_errors(
    S: Float32Array, projections: Float32Array, alpha: float = ALPHA
) -> Float32Array:
    """Return S - α T, in which pairs on the wrong side have more weight.

    T is the product of two projections where its sign differs from that of S, and 0 elsewhere.
    The projections are scaled to a mean square of 1, because data may have any unit.

    Parameters
    ----------
    S
        Labels of the pairs.
    projections
        Projections of the rows onto a direction.
    alpha
        α.

    Returns
    -------
    The new labels of the pairs.
    """
    scale = np.sqrt(np.mean(projections**2, dtype=np.float64)) or 1.0
    p = (projections / scale).astype(np.float32)
    products = np.outer(p, p)
    is_wrong = products * S < 0
    return S - np.where(is_wrong, np.float32(alpha) * products, np.float32(0))


def deflate(C: Float64Array, w: Float64Array) -> Float64Array:
    """Return the covariance of the residuals x - w wᵀx for a unit vector w."""
    Cw = C @ w
    cross = np.outer(w, Cw)
    return C - cross - cross.T + (w @ Cw) * np.outer(w, w)


def learn_sequential(
    X: Float32Array,
    S: Float32Array,
    C: Float64Array,
    n_bits: int,
    eta: float,
    *,
    on_step: StepCallback | None = None,
) -> Float64Array:
    """Return directions that each correct the errors of those before (SPLH), one per row.

    Parameters
    ----------
    X
        Labeled rows.
    S
        Labels of their pairs.
    C
        Covariance of all rows.
    n_bits
        Number of directions.
    eta
        Weight of the variance.
    on_step
        Called with (done, total).

    Returns
    -------
    One direction per row.
    """
    W = np.empty((n_bits, X.shape[1]))
    for bit in range(n_bits):
        w = largest_eigenvectors(measure_agreement(X, S) + eta * C, 1).vectors[:, 0]
        W[bit] = w
        S = emphasize_errors(S, X @ w.astype(np.float32))
        C = deflate(C, w)
        if on_step:
            on_step(bit + 1, n_bits)
    return W


class SSH(SupervisedMixin, LinearHasher):
    """Semi-supervised hashing.

    Each direction has labeled rows of the same class on the same side and those of different
    classes on different sides, and a large variance over all rows. Rows labeled -1 contribute to
    the variance only.

    Parameters
    ----------
    n_bits
        Length of the codes. None uses 64, or the number of features if that is smaller. Only the
        sequential variant can have more bits than features.
    variant
        "sequential" learns one bit at a time, with more weight on the pairs that the bits before
        got wrong (SPLH); "nonorthogonal" and "orthogonal" learn all bits at once.
    n_samples
        Number of labeled rows whose pairs are learned from; all labeled rows if there are fewer.
    eta
        Weight of the variance.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit.
    thresholds_
        Offset of each hyperplane along its normal: 0.

    References
    ----------
    Wang et al., *Semi-supervised hashing for large-scale search*, PAMI 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import SSH
    >>> X, y = load_digits(return_X_y=True)
    >>> SSH(n_bits=32, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        variant: str = "sequential",
        n_samples: int = 2000,
        eta: float = 0.1,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.variant = variant
        self.n_samples = n_samples
        self.eta = eta
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        variant = _validation.check_choice(self.variant, "variant", owner, _VARIANTS)
        if variant == "sequential" and self.n_bits is not None:
            n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        else:
            n_bits = n_bits_within_features(self.n_bits, rows)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        eta = _validation.check_positive(self.eta, "eta", owner)
        labeled = find_labeled_rows(y, len(rows), owner)
        chosen = labeled.sample(n_samples, _validation.make_generator(self.random_state))
        X, S = rows.take(chosen.rows), pair_labels(chosen.classes)
        C = covariance(rows)
        if variant == "sequential":
            W = learn_sequential(X, S, C, n_bits, eta, on_step=partial(progress, "bits"))
        else:
            learn = learn_orthogonal if variant == "orthogonal" else learn_nonorthogonal
            W = learn(measure_agreement(X, S) + eta * C, n_bits)
        return self._fitted_hyperplanes(W)
