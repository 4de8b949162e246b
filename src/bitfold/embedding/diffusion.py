"""Diffusion maps of the base set."""

from __future__ import annotations

import numbers

import numpy as np

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import Embedding, Given, Limit

SIGMA_NEIGHBOR = 5
"""The default bandwidth is the mean distance to this neighbor."""

FADED = 1e-20
"""Smallest factor of a coordinate against the first: its sign survives in float32."""


def diffusion_kernel(distances: Float64Array, bandwidth: float, alpha: float) -> Float64Array:
    """Return the Gaussian kernel divided by (q_i q_j)^α, q its row sums: the local density."""
    kernel = graph.gaussian(distances, bandwidth)
    density = kernel.sum(axis=1) ** alpha
    return kernel / np.outer(density, density)


def diffusion_maps(
    base: FloatingArray,
    n_components: int,
    bandwidth: float | None = None,
    alpha: float = 1.0,
    n_steps: int = 1,
) -> Float64Array:
    """Return the eigenvectors ψ of the Markov matrix times their eigenvalues to the n_steps."""
    sigma = bandwidth or graph.typical_distance(graph.nearest(base, SIGMA_NEIGHBOR))
    kernel = diffusion_kernel(graph.all_distances(base), sigma, alpha)
    # D⁻¹K has the eigenvalues of the symmetric D^-½ K D^-½, whose trivial eigenvector is √d.
    root = np.sqrt(kernel.sum(axis=1))
    values, vectors = spectral.smallest(
        np.eye(len(root)) - kernel / np.outer(root, root), n_components, root
    )
    psi = vectors / root[:, None] * np.linalg.norm(root)
    Y: Float64Array = psi * _fading(1 - values, n_steps)
    return Y


def _fading(eigenvalues: Float64Array, n_steps: int) -> Float64Array:
    """Return (λ/λ_1)^t, where a common factor λ_1^t moves no sign and no rotation."""
    rest = np.clip(eigenvalues, np.finfo(np.float64).tiny, None)
    factors: Float64Array = np.maximum((rest / rest[0]) ** n_steps, FADED)
    return factors


class DiffusionMaps(Embedding):
    """Keep near what a random walk on the base set soon reaches.

    The walk steps with a Gaussian kernel freed from the density of the points by α; coordinate l
    is λ_l^t ψ_l with λ_l and ψ_l the eigenvalues and eigenvectors of its Markov matrix, the
    constant one left out, all relative to λ_1^t.

    Parameters
    ----------
    n_steps
        t, the steps of the walk: the more, the more the fine coordinates fade.
    alpha
        From 0, where dense regions attract the walk, to 1, where only the shape matters.
    bandwidth
        σ of the kernel exp(-d²/σ²); ``None`` is the mean distance to the 5th nearest base point.

    References
    ----------
    Coifman and Lafon, Diffusion maps, Applied and Computational Harmonic Analysis 2006; Lafon
    and Lee, Diffusion maps and coarse-graining, TPAMI 2006.
    """

    def __init__(
        self, n_steps: int = 1, alpha: float = 1.0, bandwidth: float | None = None
    ) -> None:
        self.n_steps = n_steps
        self.alpha = alpha
        self.bandwidth = bandwidth

    def limit(self, m: int, n_features: int) -> Limit:
        """All eigenvectors but the constant one."""
        return Limit(m - 1, f"m - 1 = {m - 1}")

    def _embed(self, base: Float32Array, n_components: int, given: Given) -> Float64Array:
        owner = type(self).__name__
        n_steps = _validation.check_integer(self.n_steps, "n_steps", owner, low=1)
        if not (isinstance(self.alpha, numbers.Real) and 0 <= self.alpha <= 1):
            _validation.raise_invalid("alpha", owner, "a number from 0 to 1", repr(self.alpha))
        if self.bandwidth is not None:
            _validation.check_positive(self.bandwidth, "bandwidth", owner)
        return diffusion_maps(base, n_components, self.bandwidth, float(self.alpha), n_steps)
