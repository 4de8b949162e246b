"""Principal component hashing."""

from __future__ import annotations

from typing import Any

from bitfold._linalg.principal import n_bits_within_features, principal_directions
from bitfold._types import ProgressCallback
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows


class PCAH(LinearHasher):
    """The signs along the leading principal directions.

    The threshold of each direction is the mean. All bits have the same weight although later
    directions have less variance, so that longer codes are often worse.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of features. None uses 64, or the number of
        features if that is smaller.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.

    Attributes
    ----------
    directions_
        Principal directions, one per bit.
    thresholds_
        Threshold along each direction: 0.

    References
    ----------
    Wang et al., *Semi-supervised hashing for large-scale search*, PAMI 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import PCAH
    >>> X = load_digits().data
    >>> PCAH(n_bits=32).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(self, n_bits: int | None = None, *, normalize: bool = False) -> None:
        self.n_bits = n_bits
        self.normalize = normalize

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = n_bits_within_features(self.n_bits, rows)
        return self._fitted_hyperplanes(principal_directions(rows, n_bits))
