"""Supervised discrete hashing: codes from which the labels can be predicted linearly."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import solve

from bitfold._kernels.discrete import descend_bits
from bitfold._types import Float32Array, Float64Array, Int8Array, Int64Array
from bitfold.hashers._discrete_codes import ChooseCodes, CodeSums, DiscreteCodeHasher

LABEL_RIDGE = 1.0
"""λ of the paper: ridge of the regression of labels on codes."""

MAX_SWEEPS = 10
"""Maximum number of times that all bits of a row are revised in one round."""


def regress_labels(sums: CodeSums) -> Float64Array:
    """Return W = (BᵀB + λI)⁻¹ BᵀY, (bits, classes), which predicts labels Y from codes B."""
    ridge = LABEL_RIDGE * np.eye(len(sums.codes))
    W: Float64Array = solve(sums.codes + ridge, sums.classes.T, assume_a="pos")
    return W


def choose_codes(
    codes: Int8Array,
    predicted: Float32Array,
    classes: Int64Array,
    W: Float64Array,
    fit_weight: float,
) -> Int8Array:
    """Decrease |Wᵀb - y|² + ν |b - f|² bit by bit for each row.

    Parameters
    ----------
    codes
        Codes to start from, 1 or -1.
    predicted
        f, what the kernels predict.
    classes
        Class of each row; y is its indicator.
    W
        Regression of labels on codes, (bits, classes).
    fit_weight
        ν.

    Returns
    -------
    New codes.
    """
    better = codes.copy()
    descend_bits(better, W.T[classes] + fit_weight * predicted, W @ W.T, MAX_SWEEPS)
    return better


class SDH(DiscreteCodeHasher):
    """Supervised discrete hashing.

    The labels of rows are predicted linearly from their codes, and the codes from kernels with
    anchors. Codes are learned as bits, one bit at a time, without relaxing them to reals. Rows
    labeled -1 serve only as anchors. The first codes are random ones of the classes, as far apart
    as a few draws allow. With a small fit_weight they usually stay, and FSDH learns the same.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_anchors
        Number of random rows that the kernel is evaluated at; all rows if there are fewer.
    n_samples
        Number of labeled rows to learn from; None is all of them.
    bandwidth
        σ of the kernel exp(-d²/2σ²). None chooses, among six, the one with which ridge regression
        predicts the labels of held-out training rows best.
    fit_weight
        ν, the weight of the distance between the codes of training rows and what the kernels
        predict, relative to that of the labels.
    regularization
        Ridge of the regression of codes on kernels, in units of the mean variance of the kernels.
    max_iter
        Maximum number of rounds; they end when no bit changes.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    anchors_
        The anchors, relative to ``center_``, one per row.
    bandwidth_
        The σ in use.
    coefficients_
        Weights of the kernels, one row per bit.
    thresholds_
        Value that the weighted sum of each bit must exceed.

    References
    ----------
    Shen et al., *Supervised discrete hashing*, CVPR 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import SDH
    >>> X, y = load_digits(return_X_y=True)
    >>> SDH(n_bits=32, n_anchors=300, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    @staticmethod
    def _relate_labels(sums: CodeSums, sizes: Int64Array, fit_weight: float) -> ChooseCodes:
        return partial(choose_codes, W=regress_labels(sums), fit_weight=fit_weight)
