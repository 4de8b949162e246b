"""Iterative quantization: principal directions, rotated to reduce the quantization loss."""

from __future__ import annotations

from functools import partial
from typing import Any

from bitfold import _validation
from bitfold._linalg.principal import (
    n_bits_within_features,
    principal_directions,
    project_sample,
)
from bitfold._types import ProgressCallback, Seed
from bitfold.hashers._iterations import IterativeMixin
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows
from bitfold.rotation import itq

MAX_SAMPLE_ROWS = 1 << 16
"""Maximum number of rows that the rotation is learned from."""


class ITQ(IterativeMixin, LinearHasher):
    """The signs along principal directions after a learned rotation.

    A rotation does not change distances, but it can distribute the variance evenly over the bits
    and move clusters toward the corners of the hypercube, where signs lose less. It is learned
    by alternating between taking signs and fitting the rotation to them.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of features. None uses 64, or the number of
        features if that is smaller.
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
        Offset of each hyperplane along its normal: 0.

    References
    ----------
    Gong et al., *Iterative quantization: a Procrustean approach to learning binary codes for
    large-scale image retrieval*, PAMI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import ITQ
    >>> X = load_digits().data
    >>> ITQ(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        max_iter: int = 50,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.max_iter = max_iter
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = n_bits_within_features(self.n_bits, rows)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", rows.owner, low=0)
        sample_rng, rotation_rng = _validation.spawn_generators(self.random_state, 2)
        directions = principal_directions(rows, n_bits)
        progress("principal directions", 1, 1)
        V = project_sample(rows, directions, MAX_SAMPLE_ROWS, sample_rng)
        R = itq(V, rotation_rng, max_iter, on_step=partial(progress, "rotation")).matrix
        return self._fitted_hyperplanes(R.T @ directions)
