"""Fast supervised discrete hashing: SDH with all bits of a row chosen at once."""

from __future__ import annotations

from functools import partial

import numpy as np

from bitfold._types import Float32Array, Float64Array, Int8Array, Int64Array
from bitfold.hashers._discrete_codes import ChooseCodes, CodeSums, DiscreteCodeHasher

LABEL_RIDGE = 1.0
"""λ of the paper: ridge of the regression of codes on labels."""


def regress_codes(sums: CodeSums, sizes: Int64Array) -> Float64Array:
    """Return W = (YᵀY + λI)⁻¹ YᵀB, (classes, bits), which predicts codes B from labels Y.

    YᵀY is diagonal: W has the mean code of each class, slightly closer to zero.
    """
    W: Float64Array = sums.classes / (sizes[:, None] + LABEL_RIDGE)
    return W


def choose_codes(
    codes: Int8Array,
    predicted: Float32Array,
    classes: Int64Array,
    W: Float64Array,
    fit_weight: float,
) -> Int8Array:
    """Minimize |b - Wᵀy|² + ν |b - f|² for each row: its signs are those of Wᵀy + ν f.

    Parameters
    ----------
    codes
        Codes before, 1 or -1; they are kept where the sum is zero.
    predicted
        f, what the kernels predict.
    classes
        Class of each row; y is its indicator.
    W
        Regression of codes on labels, (classes, bits).
    fit_weight
        ν.

    Returns
    -------
    New codes.
    """
    wanted = np.sign(W[classes] + fit_weight * predicted).astype(np.int8)
    return np.where(wanted, wanted, codes)


class FSDH(DiscreteCodeHasher):
    """Fast supervised discrete hashing.

    As in SDH, but codes are predicted from labels, and not labels from codes. All bits of
    a row then have a closed form: the code of its class, unless the kernels clearly predict
    another one. Rows labeled -1 serve only as anchors.

    Parameters
    ----------
    n_bits, n_anchors, n_samples, bandwidth, fit_weight, regularization, max_iter
        As in :class:`SDH`.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    anchors_, bandwidth_, coefficients_, thresholds_
        As in :class:`SDH`.

    References
    ----------
    Gui et al., *Fast supervised discrete hashing*, PAMI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import FSDH
    >>> X, y = load_digits(return_X_y=True)
    >>> FSDH(n_bits=32, n_anchors=300, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    @staticmethod
    def _relate_labels(sums: CodeSums, sizes: Int64Array, fit_weight: float) -> ChooseCodes:
        return partial(choose_codes, W=regress_codes(sums, sizes), fit_weight=fit_weight)
