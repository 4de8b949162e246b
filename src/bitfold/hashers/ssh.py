"""Semi-supervised hashing: directions that agree with labeled pairs and vary over all rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import covariance, n_bits_within_features
from bitfold._linalg.spectral import largest_eigenvectors
from bitfold._threads import serial_blas
from bitfold._types import (
    Float32Array,
    Float64Array,
    Int64Array,
    ProgressCallback,
    Seed,
    StepCallback,
)
from bitfold.hashers._labels import SupervisedMixin, labeled
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows

ALPHA = 0.3
"""How much a pair on which a bit was wrong weighs more for the next ones."""

_RHO = 0.01
"""Penalty ρ on directions that are not orthogonal, as part of the largest eigenvalue."""

_VARIANTS = ("sequential", "nonorthogonal", "orthogonal")


def pair_labels(classes: Int64Array) -> Float32Array:
    """S: 1 for a pair of one class, -1 for others."""
    S: Float32Array = np.where(classes[:, None] == classes, np.float32(1), np.float32(-1))
    return S


def agreement(X: Float32Array, S: Float32Array) -> Float64Array:
    """Return XᵀSX / n²: along w, the mean of S_ij times the projections of i and of j."""
    product = (X.T @ (S @ X)).astype(np.float64)
    # Rounding apart it is symmetric, which a Cholesky factor takes at its word.
    symmetric: Float64Array = (product + product.T) / (2 * len(X) ** 2)
    return symmetric


def orthogonal(M: Float64Array, n_bits: int) -> Float64Array:
    """Return the leading eigenvectors of the adjusted covariance M, one a row."""
    return largest_eigenvectors(M, n_bits).vectors.T


def nonorthogonal(M: Float64Array, n_bits: int) -> Float64Array:
    """Return directions that may lean toward the strong ones, one a row.

    Where orthogonality is but a penalty ρ |WᵀW - I|², W is L U for the leading eigenvectors U of M
    and the Cholesky factor L of I + M / ρ.
    """
    values, vectors = largest_eigenvectors(M, len(M))
    # ρ has to exceed what M lacks to be positive.
    rho = max(_RHO * values[0], -2 * values[-1])
    if rho <= 0:
        return vectors[:, :n_bits].T
    L = np.linalg.cholesky(np.eye(len(M)) + M / rho)
    W: Float64Array = L @ vectors[:, :n_bits]
    return W.T


def emphasize(S: Float32Array, projections: Float32Array, alpha: float = ALPHA) -> Float32Array:
    """Return S - α T: pairs that these projections have on the wrong side weigh more.

    T is the product of the two projections where its sign is not that of S, and 0 elsewhere. The
    projections are taken at unit mean square, as data come in any unit.
    """
    scale = np.sqrt(np.mean(projections**2, dtype=np.float64)) or 1.0
    p = (projections / scale).astype(np.float32)
    products = np.outer(p, p)
    wrong = products * S < 0
    return S - np.where(wrong, np.float32(alpha) * products, np.float32(0))


def deflate(C: Float64Array, w: Float64Array) -> Float64Array:
    """Return the covariance of the residues x - w wᵀx, w being of length 1."""
    Cw = C @ w
    cross = np.outer(w, Cw)
    rest: Float64Array = C - cross - cross.T + (w @ Cw) * np.outer(w, w)
    return rest


def sequential(
    X: Float32Array,
    S: Float32Array,
    C: Float64Array,
    n_bits: int,
    eta: float,
    *,
    on_step: StepCallback | None = None,
) -> Float64Array:
    """Return directions, one a row, each learned to correct those before it (SPLH).

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
        Called with (done, total) as the work goes on.
    """
    W = np.empty((n_bits, X.shape[1]))
    for bit in range(n_bits):
        w = largest_eigenvectors(agreement(X, S) + eta * C, 1).vectors[:, 0]
        W[bit] = w
        S = emphasize(S, X @ w.astype(np.float32))
        C = deflate(C, w)
        if on_step:
            on_step(bit + 1, n_bits)
    return W


class SSH(SupervisedMixin, LinearHasher):
    """Semi-supervised hashing.

    Directions along which labeled rows of one class lie on one side and those of others on the
    other, while all rows, labeled or not, vary much.

    Parameters
    ----------
    n_bits
        Length of the codes; None is 64, or the number of features if there are less. Only the
        sequential variant can have more bits than features.
    variant
        "sequential" learns a bit at a time, with more weight on the pairs that the last one had
        wrong (SPLH); "nonorthogonal" and "orthogonal" learn all bits at once.
    n_samples
        Labeled rows whose pairs are learned from; all of them when there are less.
    eta
        Weight of the variance.
    random_state
        Seed or generator.

    References
    ----------
    Wang et al., *Semi-supervised hashing for large-scale search*, PAMI 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
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
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.variant = variant
        self.n_samples = n_samples
        self.eta = eta
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
        known = labeled(y, len(rows), owner)
        part = known.sample(n_samples, _validation.make_generator(self.random_state))
        X, S = rows.take(part.rows), pair_labels(part.classes)
        C = covariance(rows)
        with serial_blas():
            if variant == "sequential":
                W = sequential(X, S, C, n_bits, eta, on_step=partial(progress, "bits"))
            else:
                learn = orthogonal if variant == "orthogonal" else nonorthogonal
                W = learn(agreement(X, S) + eta * C, n_bits)
        return self._fitted_hyperplanes(W)
