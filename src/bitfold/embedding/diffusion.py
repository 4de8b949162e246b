"""Diffusion maps of the base set."""

from __future__ import annotations

import numbers

import numpy as np

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import AnyArray, Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import EmbeddingContext, SpectralEmbedding

BANDWIDTH_NEIGHBOR = 5
"""The default bandwidth is the mean distance to this neighbor."""

MIN_FACTOR = 1e-20
"""Smallest factor of a coordinate relative to the first; its sign survives in float32."""


class DiffusionMaps(SpectralEmbedding):
    """Embed base points by how soon a random walk reaches one from another.

    The walk steps with a Gaussian kernel from which α removes the density of the points.
    Coordinate l is λ_l^t ψ_l, with the eigenvalues λ_l and eigenvectors ψ_l of its Markov matrix
    except the constant one, all relative to λ_1^t.

    Parameters
    ----------
    n_steps
        t, the number of steps of the walk. With more steps, fine coordinates fade.
    alpha
        From 0, where dense regions attract the walk, to 1, where only the shape matters.
    bandwidth
        σ of the kernel exp(-d²/σ²); None is the mean distance to the 5th nearest base point.

    References
    ----------
    Coifman and Lafon, *Diffusion maps*, Applied and Computational Harmonic Analysis 2006; Lafon
    and Lee, *Diffusion maps and coarse-graining*, TPAMI 2006.

    Examples
    --------
    >>> DiffusionMaps().embed([[0.0], [1.0], [3.0], [4.0]], 2).shape
    (4, 2)
    """

    def __init__(
        self, n_steps: int = 1, alpha: float = 1.0, bandwidth: float | None = None
    ) -> None:
        self.n_steps = n_steps
        self.alpha = alpha
        self.bandwidth = bandwidth

    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        owner = type(self).__name__
        n_steps = _validation.check_integer(self.n_steps, "n_steps", owner, low=1)
        if not (isinstance(self.alpha, numbers.Real) and 0 <= self.alpha <= 1):
            _validation.raise_invalid("alpha", owner, "a number from 0 to 1", repr(self.alpha))
        if self.bandwidth is not None:
            _validation.check_positive(self.bandwidth, "bandwidth", owner)
        return diffusion_maps(base, n_components, self.bandwidth, float(self.alpha), n_steps)


def diffusion_maps(
    base: FloatingArray,
    n_components: int,
    bandwidth: float | None = None,
    alpha: float = 1.0,
    n_steps: int = 1,
) -> Float64Array:
    """Return the eigenvectors ψ of the Markov matrix times their eigenvalues to the n_steps."""
    sigma = bandwidth or graph.mean_neighbor_distance(
        graph.find_neighbors(base, BANDWIDTH_NEIGHBOR)
    )
    kernel = diffusion_kernel(graph.pairwise_distances(base), sigma, alpha)
    # D⁻¹K has the eigenvalues of the symmetric D^-½ K D^-½, whose trivial eigenvector is √d.
    root = np.sqrt(kernel.sum(axis=1))
    values, vectors = spectral.smallest_eigenvectors(
        np.eye(len(root)) - kernel / np.outer(root, root), n_components, root
    )
    psi = vectors / root[:, None] * np.linalg.norm(root)
    Y: Float64Array = psi * _relative_powers(1 - values, n_steps)
    return Y


def diffusion_kernel(distances: Float64Array, bandwidth: float, alpha: float) -> Float64Array:
    """Return the Gaussian kernel divided by (q_i q_j)^α; its row sums q are the local density."""
    kernel = graph.gaussian_weights(distances, bandwidth)
    density = kernel.sum(axis=1) ** alpha
    return kernel / np.outer(density, density)


def _relative_powers(eigenvalues: Float64Array, n_steps: int) -> Float64Array:
    """Return (λ/λ_1)^t; the common factor λ_1^t changes no sign and no rotation."""
    positive = np.clip(eigenvalues, np.finfo(np.float64).tiny, None)
    factors: Float64Array = np.maximum((positive / positive[0]) ** n_steps, MIN_FACTOR)
    return factors
