"""Principal component hashing."""

from __future__ import annotations

from typing import Any

from bitfold._linalg.principal import n_bits_within_features, principal_directions
from bitfold._types import ProgressCallback
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows


class PCAH(LinearHasher):
    """The sign along each of the leading principal directions.

    The directions in which the data vary most carry most, each cut at the mean. Every bit counts
    alike, though later directions tell less and less: longer codes are often worse.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of features; None is 64, or as many as there are.

    References
    ----------
    Wang et al., *Semi-supervised hashing for large-scale search*, PAMI 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> PCAH(n_bits=32).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(self, n_bits: int | None = None) -> None:
        self.n_bits = n_bits

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = n_bits_within_features(self.n_bits, rows)
        return self._fitted_hyperplanes(principal_directions(rows, n_bits).directions)
