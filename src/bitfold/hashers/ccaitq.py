"""CCA-ITQ: directions that correlate with the labels, rotated to reduce the quantization loss."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import n_bits_within_features, project_sample
from bitfold._linalg.scatter import Scatter, measure_scatter
from bitfold._linalg.spectral import fix_signs, whiten_covariance
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers._iterations import IterativeMixin
from bitfold.hashers._labels import SupervisedMixin, find_labeled_rows
from bitfold.hashers.base.linear import LinearHasher
from bitfold.hashers.itq import MAX_SAMPLE_ROWS
from bitfold.io.rows import Rows
from bitfold.rotation import itq


class CanonicalDirections(NamedTuple):
    """Directions, one per row, and their correlations with the labels, descending."""

    directions: Float64Array
    correlations: Float64Array


def correlate_with_classes(scatter: Scatter, regularization: float) -> CanonicalDirections:
    """Return the canonical correlations of the data with the class indicators (Sec. 4.1).

    Solves Cxy (Cyy + ρI)⁻¹ Cyx w = r² (Cxx + ρI) w by a singular value decomposition of the
    cross-covariance, whitened on both sides.

    Parameters
    ----------
    scatter
        Class means and covariance of the data.
    regularization
        ρ, in units of the mean variance.

    Returns
    -------
    As many directions as there are classes or features, whichever is smaller.
    """
    shares = scatter.shares
    Cxy = ((scatter.means - scatter.mean) * shares[:, None]).T
    Cyy = np.diag(shares) - np.outer(shares, shares)
    Wx = whiten_covariance(scatter.covariance, regularization)
    Wy = whiten_covariance(Cyy, regularization)
    left, correlations, _ = np.linalg.svd(Wx.T @ Cxy @ Wy, full_matrices=False)
    return CanonicalDirections(np.ascontiguousarray(fix_signs(Wx @ left).T), correlations)


def scale_directions(found: CanonicalDirections, n_bits: int) -> Float64Array:
    """Scale the first n_bits directions by their correlations (Sec. 4.1).

    If there are fewer, the other rows are zero, and the rotation fills them.
    """
    n = min(n_bits, len(found.correlations))
    scaled = np.zeros((n_bits, found.directions.shape[1]))
    scaled[:n] = found.correlations[:n, None] * found.directions[:n]
    return scaled


class CCAITQ(SupervisedMixin, IterativeMixin, LinearHasher):
    """Iterative quantization of the directions that correlate with the classes.

    k classes give at most k - 1 directions. Longer codes do not add directions; the rotation
    gives them other combinations of the same ones. Rows labeled -1 are ignored.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of features. None uses 64, or the number of
        features if that is smaller.
    regularization
        Added to the variance of every feature, in units of the mean variance.
    max_iter
        Number of iterations of the rotation.
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

    References
    ----------
    Gong et al., *Iterative quantization: a Procrustean approach to learning binary codes for
    large-scale image retrieval*, PAMI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import CCAITQ
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
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.regularization = regularization
        self.max_iter = max_iter
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = n_bits_within_features(self.n_bits, rows)
        regularization = _validation.check_positive(
            self.regularization, "regularization", rows.owner
        )
        max_iter = _validation.check_integer(self.max_iter, "max_iter", rows.owner, low=0)
        labeled = find_labeled_rows(y, len(rows), rows.owner)
        sample_rng, rotation_rng = _validation.spawn_generators(self.random_state, 2)
        scatter = measure_scatter(rows, labeled.rows, labeled.classes)
        directions = scale_directions(correlate_with_classes(scatter, regularization), n_bits)
        progress("correlations", 1, 1)
        V = project_sample(rows, directions, MAX_SAMPLE_ROWS, sample_rng, labeled.rows)
        V -= (directions @ scatter.mean).astype(np.float32)
        R = itq(V, rotation_rng, max_iter, on_step=partial(progress, "rotation")).matrix
        rotated = R.T @ directions
        return self._fitted_hyperplanes(rotated, rotated @ scatter.mean)
