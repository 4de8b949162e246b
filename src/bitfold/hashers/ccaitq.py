"""CCA-ITQ: the directions that go with the labels, rotated so that signs lose little."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import n_bits_within_features, project_sample
from bitfold._linalg.scatter import Scatter, measure_scatter
from bitfold._linalg.spectral import fix_signs, whiten_covariance
from bitfold._threads import serial_blas
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers._labels import SupervisedMixin, labeled
from bitfold.hashers.base.linear import LinearHasher
from bitfold.hashers.itq import SAMPLE
from bitfold.io.rows import Rows
from bitfold.rotation import itq


class Correlated(NamedTuple):
    """Directions, one a row, and the correlation of each with the labels, falling."""

    directions: Float64Array
    correlations: Float64Array


def cca(measured: Scatter, regularization: float) -> Correlated:
    """Canonical correlations of the data with the class indicators (Sec. 4.1).

    Solves Cxy (Cyy + ρI)⁻¹ Cyx w = r² (Cxx + ρI) w, as the singular values of the covariance of
    both sides whitened. There are as many directions as classes, or features if those are less.
    """
    shares = measured.shares
    Cxy = ((measured.means - measured.mean) * shares[:, None]).T
    Cyy = np.diag(shares) - np.outer(shares, shares)
    Wx, Wy = (
        whiten_covariance(measured.covariance, regularization),
        whiten_covariance(Cyy, regularization),
    )
    left, correlations, _ = np.linalg.svd(Wx.T @ Cxy @ Wy, full_matrices=False)
    return Correlated(np.ascontiguousarray(fix_signs(Wx @ left).T), correlations)


def scaled_directions(found: Correlated, n_bits: int) -> Float64Array:
    """Scale the first directions by their correlations (Sec. 4.1).

    Beyond those that correlate at all there is nothing: zeros, for the rotation to fill.
    """
    n = min(n_bits, len(found.correlations))
    scaled = np.zeros((n_bits, found.directions.shape[1]))
    scaled[:n] = found.correlations[:n, None] * found.directions[:n]
    return scaled


class CCAITQ(SupervisedMixin, LinearHasher):
    """Iterative quantization of the directions that correlate with the classes.

    Classes give at most as many directions less one; longer codes are that many dimensions seen
    from more sides, through the rotation. Rows labeled -1 are left out.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of features; None is 64, or as many as there are.
    regularization
        What is added to the variance of every feature, in units of their mean variance.
    max_iter
        Iterations of the rotation.
    random_state
        Seed or generator.

    References
    ----------
    Gong et al., *Iterative quantization: a Procrustean approach to learning binary codes for
    large-scale image retrieval*, PAMI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> CCAITQ(n_bits=32, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        regularization: float = 1e-4,
        max_iter: int = 50,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.regularization = regularization
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = n_bits_within_features(self.n_bits, rows)
        regularization = _validation.check_positive(
            self.regularization, "regularization", rows.owner
        )
        max_iter = _validation.check_integer(self.max_iter, "max_iter", rows.owner, low=0)
        known = labeled(y, len(rows), rows.owner)
        for_sample, for_rotation = _validation.spawn_generators(self.random_state, 2)
        measured = measure_scatter(rows, known.rows, known.classes)
        with serial_blas():  # the same directions on any number of cores
            directions = scaled_directions(cca(measured, regularization), n_bits)
        progress("correlations", 1, 1)
        V = project_sample(rows, directions, SAMPLE, for_sample, known.rows)
        V -= (directions @ measured.mean).astype(np.float32)
        R = itq(V, for_rotation, max_iter, on_step=partial(progress, "rotation")).matrix
        with serial_blas():
            rotated = R.T @ directions
        return self._fitted_hyperplanes(rotated, rotated @ measured.mean)
