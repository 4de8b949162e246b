"""Spherical hashing: a bit is whether a point lies within a sphere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels import products
from bitfold._threads import map_blocks, serial_blas
from bitfold._types import BoolArray, Float32Array, ProgressCallback, Seed
from bitfold.codes import Codes
from bitfold.hashers.base.hasher import Hasher
from bitfold.io.rows import Rows, block_length

MEAN_TOLERANCE = 0.10
"""Mean of |o_ij - n/4| that is good enough, in units of n/4 (the paper's ε_m)."""

SPREAD_TOLERANCE = 0.15
"""Standard deviation of o_ij that is good enough, in units of n/4 (the paper's ε_s)."""

_PIVOT_POINTS = 10
"""Random points whose mean is a pivot's first place."""

_REACH = 32.0
"""How far out a pivot may go, in root mean squares of the points' lengths.

There its sphere is a plane to all points, and farther out float32 could not tell its sides.
"""


class Spheres(NamedTuple):
    """Centers, one a row, squared radii, and how many rounds it took to place them."""

    pivots: Float32Array
    sq_radii: Float32Array
    n_iter: int


def random_pivots(points: Float32Array, n_bits: int, rng: np.random.Generator) -> Float32Array:
    """Start every pivot at the mean of some random points."""
    chosen = rng.integers(len(points), size=(n_bits, _PIVOT_POINTS))
    return np.stack([points[few].mean(axis=0) for few in chosen])


def halving(pivots: Float32Array, points: Float32Array) -> tuple[Float32Array, BoolArray]:
    """Return squared radii that have half of the points inside, and which ones are, (bits, n)."""
    step = block_length(len(pivots))

    def of_block(start: int) -> Float32Array:
        part = points[start : start + step]
        out = np.empty((len(part), len(pivots)), np.float32)
        products.sq_distances(part, pivots, out)
        return out

    parts = list(map_blocks(of_block, range(0, len(points), step)))
    distances = np.ascontiguousarray(np.concatenate(parts).T)
    sq_radii = np.median(distances, axis=1)
    return sq_radii, distances < sq_radii[:, None]


def overlaps(inside: BoolArray) -> Float32Array:
    """Count the points that two spheres share, for every two; on the diagonal, that one holds."""
    # Whole numbers below 2²⁴: exact in float32 in any order.
    indicator = inside.astype(np.float32)
    return indicator @ indicator.T


def balanced(shared: Float32Array, n: int) -> bool:
    """Tell whether every two spheres share about a quarter of the n points."""
    between = shared[np.triu_indices(len(shared), 1)].astype(np.float64)
    if not len(between):
        return True
    aim = n / 4
    off = float(np.abs(between - aim).mean())
    return off <= MEAN_TOLERANCE * aim and float(between.std()) <= SPREAD_TOLERANCE * aim


def pushed(pivots: Float32Array, shared: Float32Array, n: int) -> Float32Array:
    """Move pivots away from those they share too much with, and toward the others (Alg. 1).

    The mean over j of (o_ij - n/4) / (n/4) · (p_i - p_j) / 2.
    """
    strength = (shared.astype(np.float64) - n / 4) / (n / 4) / 2
    P = pivots.astype(np.float64)
    with serial_blas():  # the same sums on any number of cores
        force = strength.sum(axis=1, keepdims=True) * P - strength @ P
    moved: Float32Array = (P + force / len(P)).astype(np.float32)
    return moved


def within_reach(pivots: Float32Array, reach: float) -> Float32Array:
    """Bring pivots that went too far back to where float32 can follow."""
    lengths = np.linalg.norm(pivots.astype(np.float64), axis=1, keepdims=True)
    shrink = np.divide(reach, lengths, out=np.ones_like(lengths), where=lengths > reach)
    near: Float32Array = (pivots * shrink).astype(np.float32)
    return near


def spheres(
    points: Float32Array,
    n_bits: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: Callable[[int, int], None],
) -> Spheres:
    """Find spheres with half of the points in each and a quarter in every two (Alg. 1)."""
    n = len(points)
    reach = _REACH * float(np.sqrt(np.einsum("ij,ij->", points, points, dtype=np.float64) / n))
    pivots = random_pivots(points, n_bits, rng)
    for n_iter in range(1, max_iter + 1):
        sq_radii, inside = halving(pivots, points)
        shared = overlaps(inside)
        if n_iter == max_iter or balanced(shared, n):
            break
        pivots = within_reach(pushed(pivots, shared, n), reach)
        on_step(n_iter, max_iter)
    on_step(max_iter, max_iter)
    return Spheres(pivots, sq_radii, n_iter)


class SpH(Hasher):
    """Whether a point lies within each of some spheres, spread so that their bits tell most.

    Every sphere holds half of the data and every two of them a quarter: bits are balanced and
    independent, as far as pairs go.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_samples
        Random rows that the spheres are learned from.
    max_iter
        Rounds of measuring and moving the spheres at most; they rest once the paper's tolerances
        are met.
    random_state
        Seed or generator.

    Attributes
    ----------
    pivots_
        Centers of the spheres, relative to ``center_``, one a row.
    sq_radii_
        Squared radii of the spheres.
    n_iter_
        Rounds it took; ``max_iter`` if the tolerances were not met before.

    References
    ----------
    Heo et al., *Spherical hashing: binary code embedding with hyperspheres*, PAMI 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
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
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", rows.owner, low=2)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", rows.owner, low=1)
        for_sample, for_pivots = _validation.spawn_generators(self.random_state, 2)
        sample = rows.sample(n_samples, for_sample)
        found = spheres(sample, n_bits, max_iter, for_pivots, partial(progress, "spheres"))
        return {
            "n_bits_": n_bits,
            "pivots_": found.pivots,
            "sq_radii_": found.sq_radii,
            "n_iter_": found.n_iter,
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        """r² - d²: above zero within the sphere."""
        out = np.empty((len(values), self.n_bits_), np.float32)
        products.sq_distances(values, self.pivots_, out)
        np.subtract(self.sq_radii_, out, out=out)
        # A row whose squared distance is too large for float32 is outside all the same.
        return out.clip(-_LARGEST, _LARGEST, out=out)

    @staticmethod
    def distance(a: Codes, b: Codes) -> Float32Array:
        """Return the spherical Hamming distances of codes, (len(a), len(b)).

        Spheres that hold one of the two points, over spheres that hold both: more common spheres
        bound the two points' distance more tightly. Without a common one the divisor is
        1 / n_bits, which makes the distance greater than any with; that of equal codes is 0.

        Parameters
        ----------
        a, b
            Codes of equal length.
        """
        if a.n_bits != b.n_bits:
            _validation.raise_invalid("b", "distance", f"codes of {a.n_bits} bits", b.n_bits)
        out = np.empty((len(a), len(b)), np.float32)
        step = block_length(max(a.n_bits, len(a)))
        left = a.unpack().astype(np.float32)
        for start in range(0, len(b), step):
            right = b[start : start + step].unpack().astype(np.float32)
            both = left @ right.T
            either = left.sum(axis=1)[:, None] + right.sum(axis=1) - 2 * both
            np.divide(
                either, np.maximum(both, 1 / a.n_bits), out=out[:, start : start + len(right)]
            )
        return out


_LARGEST = np.finfo(np.float32).max
