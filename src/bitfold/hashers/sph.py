"""Spherical hashing: a bit says whether a point lies inside a sphere."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels import products
from bitfold._kernels.spherical import measure_spherical
from bitfold._threads import map_blocks
from bitfold._types import BoolArray, Float32Array, ProgressCallback, Seed, StepCallback
from bitfold.codes import Codes
from bitfold.hashers.base.hasher import Hasher
from bitfold.io.rows import Rows, block_length

MEAN_TOLERANCE = 0.10
"""Largest accepted mean of |o_ij - n/4|, in units of n/4 (ε_m of the paper)."""

STD_TOLERANCE = 0.15
"""Largest accepted standard deviation of o_ij, in units of n/4 (ε_s of the paper)."""

_POINTS_PER_PIVOT = 10
"""Number of random points whose mean is the initial position of a pivot."""

_MAX_PIVOT_NORM = 32.0
"""Maximum length of a pivot, in root mean squared lengths of the points.

A sphere that far away is nearly a hyperplane for the points, and float32 could not distinguish
their distances to a pivot even farther away.
"""

_MAX_FLOAT32 = np.finfo(np.float32).max


class Spheres(NamedTuple):
    """Centers, one per row, squared radii, and the number of iterations that moved them."""

    pivots: Float32Array
    sq_radii: Float32Array
    n_iter: int


def draw_pivots(points: Float32Array, n_bits: int, rng: np.random.Generator) -> Float32Array:
    """Return the means of random groups of points as initial pivots."""
    chosen = rng.integers(len(points), size=(n_bits, _POINTS_PER_PIVOT))
    return np.stack([points[group].mean(axis=0) for group in chosen])


def halve_points(pivots: Float32Array, points: Float32Array) -> tuple[Float32Array, BoolArray]:
    """Return the squared radii of spheres that contain half of the points, and their members.

    Parameters
    ----------
    pivots
        Centers of the spheres, one per row.
    points
        Points, one per row.

    Returns
    -------
    Squared radii, and for each sphere a row that says which points are inside.
    """
    step = block_length(len(pivots))

    def measure_block(start: int) -> Float32Array:
        part = points[start : start + step]
        out = np.empty((len(part), len(pivots)), np.float32)
        products.sq_distances(part, pivots, out)
        return out

    parts = list(map_blocks(measure_block, range(0, len(points), step)))
    distances = np.ascontiguousarray(np.concatenate(parts).T)
    sq_radii = np.median(distances, axis=1)
    return sq_radii, distances < sq_radii[:, None]


def count_overlaps(inside: BoolArray) -> Float32Array:
    """Count the points that every two spheres share; the diagonal counts those of one sphere."""
    # Integers below 2²⁴ are exact in float32, in any order of summation.
    indicator = inside.astype(np.float32)
    return indicator @ indicator.T


def is_balanced(overlaps: Float32Array, n: int) -> bool:
    """Return whether every two spheres share about a quarter of the n points."""
    pairs = overlaps[np.triu_indices(len(overlaps), 1)].astype(np.float64)
    if not len(pairs):
        return True
    target = n / 4
    mean_error = float(np.abs(pairs - target).mean())
    return mean_error <= MEAN_TOLERANCE * target and float(pairs.std()) <= STD_TOLERANCE * target


def move_pivots(pivots: Float32Array, overlaps: Float32Array, n: int) -> Float32Array:
    """Move pivots apart if they share too many points, and together if too few (Alg. 1).

    The force on pivot i is the mean over j of (o_ij - n/4) / (n/4) · (p_i - p_j) / 2.
    """
    strength = (overlaps.astype(np.float64) - n / 4) / (n / 4) / 2
    P = pivots.astype(np.float64)
    force = strength.sum(axis=1, keepdims=True) * P - strength @ P
    moved: Float32Array = (P + force / len(P)).astype(np.float32)
    return moved


def limit_norms(pivots: Float32Array, max_norm: float) -> Float32Array:
    """Shorten pivots that are longer than ``max_norm``."""
    norms = np.linalg.norm(pivots.astype(np.float64), axis=1, keepdims=True)
    factors = np.divide(max_norm, norms, out=np.ones_like(norms), where=norms > max_norm)
    limited: Float32Array = (pivots * factors).astype(np.float32)
    return limited


def fit_spheres(
    points: Float32Array,
    n_bits: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback,
) -> Spheres:
    """Find spheres that each contain half of the points; any two share a quarter (Alg. 1).

    Parameters
    ----------
    points
        Points, one per row.
    n_bits
        Number of spheres.
    max_iter
        Maximum number of iterations.
    rng
        Generator of the initial pivots.
    on_step
        Called with (done, total).

    Returns
    -------
    The spheres.
    """
    n = len(points)
    mean_square = float(np.einsum("ij,ij->", points, points, dtype=np.float64) / n)
    max_norm = _MAX_PIVOT_NORM * float(np.sqrt(mean_square))
    pivots = draw_pivots(points, n_bits, rng)
    for n_iter in range(1, max_iter + 1):
        sq_radii, inside = halve_points(pivots, points)
        overlaps = count_overlaps(inside)
        if n_iter == max_iter or is_balanced(overlaps, n):
            break
        pivots = limit_norms(move_pivots(pivots, overlaps, n), max_norm)
        on_step(n_iter, max_iter)
    on_step(max_iter, max_iter)
    return Spheres(pivots, sq_radii, n_iter)


class SpH(Hasher):
    """Spherical hashing: a bit says whether a point lies inside a sphere.

    Each sphere contains half of the data, and every two spheres share a quarter: bits are balanced
    and pairwise independent.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_samples
        Number of random rows that the spheres are learned from; all rows if there are fewer.
    max_iter
        Maximum number of iterations. They end earlier when the tolerances of the paper are met.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    pivots_
        Centers of the spheres, relative to ``center_``, one per row.
    sq_radii_
        Squared radii of the spheres.
    n_iter_
        Number of iterations; ``max_iter`` if the tolerances were not met.

    Notes
    -----
    The original compares codes by spherical Hamming distance (:meth:`distance`). A search ranks by
    it with ``index.search(codes, distance="spherical")``, and
    :func:`bitfold.metrics.spherical_histograms` evaluates it.

    References
    ----------
    Heo et al., *Spherical hashing: binary code embedding with hyperspheres*, PAMI 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import SpH
    >>> X = load_digits().data
    >>> SpH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "pivots_": ("n_bits_", "n_features_in_"),
        "sq_radii_": ("n_bits_",),
    }
    _fitted_scalars: ClassVar[dict[str, type]] = {**Hasher._fitted_scalars, "n_iter_": int}

    pivots_: Float32Array
    sq_radii_: Float32Array
    n_iter_: int

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_samples: int = 10_000,
        max_iter: int = 100,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.max_iter = max_iter
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", rows.owner, low=2)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", rows.owner, low=1)
        sample_rng, pivot_rng = _validation.spawn_generators(self.random_state, 2)
        sample = rows.sample(n_samples, sample_rng)
        found = fit_spheres(sample, n_bits, max_iter, pivot_rng, partial(progress, "spheres"))
        return {
            "n_bits_": n_bits,
            "pivots_": found.pivots,
            "sq_radii_": found.sq_radii,
            "n_iter_": found.n_iter,
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        """Return r² - d², which is positive inside the sphere."""
        out = np.empty((len(values), self.n_bits_), np.float32)
        products.sq_distances(values, self.pivots_, out)
        np.subtract(self.sq_radii_, out, out=out)
        # A row whose squared distance overflows float32 is outside of the sphere.
        return out.clip(-_MAX_FLOAT32, _MAX_FLOAT32, out=out)

    @staticmethod
    def distance(a: Codes, b: Codes) -> Float32Array:
        """Return the spherical Hamming distances between codes.

        It is the number of spheres that contain one of the two points, divided by the number of
        spheres that contain both: common spheres bound the distance of the points. Without a
        common sphere the divisor is 1 / n_bits, which makes the distance larger than any other.
        Equal codes have the distance 0.

        Parameters
        ----------
        a, b
            Codes of equal length.

        Returns
        -------
        One row per code of ``a``, one column per code of ``b``.

        Raises
        ------
        ParameterError
            If the codes have different lengths.

        Examples
        --------
        >>> from bitfold import Codes
        >>> from bitfold.hashers import SpH
        >>> codes = Codes.from_bits([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
        >>> SpH.distance(codes[:1], codes)
        array([[ 0.,  2., 16.]], dtype=float32)
        """
        if a.n_bits != b.n_bits:
            _validation.raise_invalid("b", "distance", f"codes of {a.n_bits} bits", b.n_bits)
        out = np.empty((len(a), len(b)), np.float32)
        columns = np.ascontiguousarray(b.words().T)
        for row, query in zip(out, a.words(), strict=True):
            measure_spherical(query, columns, a.n_bits, row)
        return out
