"""Multidimensional spectral hashing: codes that rebuild the affinity of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from bitfold import _validation
from bitfold._kernels import products
from bitfold._linalg.principal import DEFAULT_N_BITS, covariance
from bitfold._linalg.spectral import fix_signs, largest_eigenvectors
from bitfold._threads import map_blocks
from bitfold._types import (
    Float32Array,
    Float64Array,
    Int64Array,
    IntpArray,
    ProgressCallback,
)
from bitfold.codes import Codes
from bitfold.hashers.base.hasher import Hasher
from bitfold.hashers.sh import Extent, extent
from bitfold.io.rows import Rows, block_length

N_BINS = 256
"""Places along a direction at which its eigenfunctions are computed."""

FAINTEST = 1e-10
"""Eigenvalues below this part of their direction's first are mostly rounding."""

SHARE = 0.25
"""The default σ, in root mean squared distances of two points: few pairs count as neighbors."""


class Eigenfunctions(NamedTuple):
    """Functions on a grid, one a row, and their eigenvalues in parts of the trivial one's."""

    functions: Float64Array
    values: Float64Array


class Chosen(NamedTuple):
    """The kept eigenfunctions, largest eigenvalue first, with the direction of each."""

    functions: Float64Array
    values: Float64Array
    directions: IntpArray


def histograms(rows: Rows, directions: Float64Array, within: Extent) -> Int64Array:
    """Count the rows in each of ``N_BINS`` places along each direction, by one pass."""
    W = np.ascontiguousarray(directions.T, np.float32)
    step = block_length(max(rows.n_features, 2 * len(directions)))
    width = within.high - within.low
    per_unit = np.divide(N_BINS, width, out=np.zeros_like(width), where=width > 0)
    shift = N_BINS * np.arange(len(directions))

    def of_block(values: Float32Array, start: int) -> IntpArray:
        along = values @ W
        places = ((along - within.low) * per_unit).clip(0, N_BINS - 1).astype(np.intp)
        return np.bincount((places + shift).ravel(), minlength=N_BINS * len(directions))

    total = np.zeros(N_BINS * len(directions), np.int64)
    for _, counts in rows.map(of_block, step):
        total += counts
    return total.reshape(len(directions), N_BINS)


def bulk(whole: Extent, variances: Float64Array) -> Extent:
    """Cut the extent at six standard deviations: a far-off point would leave the rest one place."""
    reach = 6 * np.sqrt(np.maximum(variances, 0))
    return Extent(np.maximum(whole.low, -reach), np.minimum(whole.high, reach))


def grids(within: Extent) -> Float64Array:
    """Return the middles of the places, one row a direction."""
    middles = (np.arange(N_BINS) + 0.5) / N_BINS
    return within.low[:, None] + np.outer(within.high - within.low, middles)


def eigenfunctions(grid: Float64Array, marginal: Float64Array, bandwidth: float) -> Eigenfunctions:
    """Return the eigenfunctions of the affinity along one direction, all but the trivial first.

    They solve ∫ w(u, v) φ(v) p(v) dv = λ φ(u) with w = exp(-(u - v)²/2σ²): the sum of λ φ(u) φ(v)
    is the best account of w, in the mean square over the data, by that many terms.
    """
    with np.errstate(over="ignore"):
        w = np.exp(-np.square((grid[:, None] - grid) / bandwidth) / 2)
    root = np.sqrt(marginal)
    # The eigenvalues add up to one, so that the first is at least 1 / N_BINS.
    least = FAINTEST / N_BINS
    values, vectors = eigh(root[:, None] * w * root, subset_by_value=(least, np.inf))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = slice(1, int(np.searchsorted(-values, -FAINTEST * values[0])))
    # By the operator itself, which gives values where there are no data as well.
    functions = (w @ (root[:, None] * vectors[:, kept])) / values[kept]
    return Eigenfunctions(fix_signs(functions).T, values[kept] / values[0])


def strongest(found: Sequence[Eigenfunctions]) -> Chosen:
    """Return the eigenfunctions of all directions together, largest eigenvalue first."""
    values = np.concatenate([f.values for f in found])
    order = np.argsort(-values, kind="stable")
    directions = np.repeat(np.arange(len(found)), [len(f.values) for f in found])
    functions = np.concatenate([f.functions for f in found])
    return Chosen(functions[order], values[order], directions[order])


def product_affinity(
    a: Float32Array, b: Float32Array, weights: Float32Array, directions: IntpArray
) -> Float32Array:
    """Return Π_i (1 + Σ_j λ_ij a_ij b_ij) - 1 for each row of a and of b, which hold ±1.

    Multiplied out, it is the sum over all products of eigenfunctions of different directions,
    exponentially many, each with the product of their eigenvalues.
    """
    total = np.ones((len(a), len(b)), np.float32)
    for direction in np.unique(directions):
        own = np.flatnonzero(directions == direction)
        total *= 1 + (a[:, own] * weights[own]) @ b[:, own].T
    total -= 1
    return total


class MDSH(Hasher):
    """Multidimensional spectral hashing: signs of the eigenfunctions of a Gaussian affinity.

    Along principal directions the affinity exp(-d²/2σ²) is a product, and so are its
    eigenfunctions. Those of single directions are computed from the data's histogram along each;
    the ones with the largest eigenvalues give the bits. All the products between directions are
    left out of the codes, but counted by :meth:`affinity`.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of eigenfunctions that can be told from rounding;
        None is 64, or as many as there are.
    bandwidth
        σ of the affinity; None is a quarter of the root mean squared distance of two points.

    Attributes
    ----------
    directions_
        The principal directions, one a row.
    grids_
        Places along each direction at which its eigenfunctions are known; linear between them.
    eigenfunctions_
        Their values there, one row a bit.
    eigenvalues_
        Of each bit, relative to the trivial eigenfunction's of its direction; falling.
    bit_directions_
        The direction of each bit: a row of ``directions_``.
    bandwidth_
        σ.

    References
    ----------
    Weiss, Fergus and Torralba, *Multidimensional spectral hashing*, ECCV 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> MDSH(n_bits=32).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "directions_": ("n_directions", "n_features_in_"),
        "grids_": ("n_directions", "n_bins"),
        "eigenfunctions_": ("n_bits_", "n_bins"),
        "eigenvalues_": ("n_bits_",),
        "bit_directions_": ("n_bits_",),
    }
    _fitted_scalars: ClassVar[dict[str, type]] = {**Hasher._fitted_scalars, "bandwidth_": float}

    directions_: Float32Array
    grids_: Float32Array
    eigenfunctions_: Float32Array
    eigenvalues_: Float32Array
    bit_directions_: Float32Array
    bandwidth_: float

    def __init__(self, n_bits: int | None = None, *, bandwidth: float | None = None) -> None:
        self.n_bits = n_bits
        self.bandwidth = bandwidth

    def affinity(self, codes_a: Codes, codes_b: Codes) -> Float32Array:
        """Return the affinity that the codes stand for, up to a scale: larger is nearer.

        It weighs the bits and counts products of bits, which tells points apart that have equal
        Hamming distances: for putting a list of candidates into a better order.

        Parameters
        ----------
        codes_a, codes_b
            Codes of this hasher; each of the first is compared with each of the second.
        """
        a, b = self._as_signs(codes_a, "codes_a"), self._as_signs(codes_b, "codes_b")
        step = block_length(max(len(a), self.n_bits_))
        which = self.bit_directions_.astype(np.intp)

        def of_block(start: int) -> Float32Array:
            return product_affinity(a, b[start : start + step], self.eigenvalues_, which)

        out = np.empty((len(a), len(b)), np.float32)
        starts = range(0, len(b), step)
        for start, part in zip(starts, map_blocks(of_block, starts), strict=True):
            out[:, start : start + step] = part
        return out

    def _as_signs(self, codes: Codes, name: str) -> Float32Array:
        check_is_fitted(self, "n_bits_")
        owner = type(self).__name__
        if not isinstance(codes, Codes):
            raise TypeError(f"{name} of {owner} must be Codes, got {type(codes).__name__}.")
        if codes.n_bits != self.n_bits_:
            _validation.raise_invalid(name, owner, f"codes of {self.n_bits_} bits", codes.n_bits)
        return codes.unpack() * np.float32(2) - np.float32(1)

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = DEFAULT_N_BITS if self.n_bits is None else self.n_bits
        n_bits = _validation.check_integer(n_bits, "n_bits", rows.owner, low=1)
        C = covariance(rows)
        variances, vectors = largest_eigenvectors(C, min(n_bits, rows.n_features))
        directions = np.ascontiguousarray(vectors.T)
        progress("principal directions", 1, 1)
        bandwidth = self._sigma(float(np.trace(C)))
        within = bulk(extent(rows, directions), variances)
        counts = histograms(rows, directions, within)
        progress("histograms", 1, 1)
        grid = grids(within)

        def of_direction(i: int) -> Eigenfunctions:
            return eigenfunctions(grid[i], counts[i] / len(rows), bandwidth)

        chosen = strongest(list(map_blocks(of_direction, range(len(directions)))))
        progress("eigenfunctions", 1, 1)
        return self._fitted_bits(chosen, directions, grid) | {"bandwidth_": bandwidth}

    def _sigma(self, total_variance: float) -> float:
        if self.bandwidth is not None:
            return _validation.check_bandwidth(self.bandwidth, "bandwidth", type(self).__name__)
        # Two points are twice the total variance apart, squared, on average.
        return SHARE * float(np.sqrt(2 * max(total_variance, 0))) or 1.0

    def _fitted_bits(
        self, chosen: Chosen, directions: Float64Array, grid: Float64Array
    ) -> dict[str, Any]:
        """Return the fitted attributes of the bits, and of the directions that have one."""
        owner, there = type(self).__name__, len(chosen.values)
        if there == 0:
            demand = "rows that differ, by a part of the bandwidth at least"
            _validation.raise_invalid("X", owner, demand, "equal ones")
        n_bits = min(DEFAULT_N_BITS, there)
        if self.n_bits is not None:
            why = f"eigenfunctions = {there}"
            n_bits = _validation.check_integer(
                self.n_bits, "n_bits", owner, low=1, high=there, why=why
            )
        used, which = np.unique(chosen.directions[:n_bits], return_inverse=True)
        return {
            "n_bits_": n_bits,
            "directions_": directions[used].astype(np.float32),
            "grids_": grid[used].astype(np.float32),
            "eigenfunctions_": chosen.functions[:n_bits].astype(np.float32),
            "eigenvalues_": chosen.values[:n_bits].astype(np.float32),
            "bit_directions_": which.astype(np.float32),
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        along = np.empty((len(values), len(self.directions_)), np.float32)
        products.dots(values, self.directions_, along)
        out = np.empty((len(values), self.n_bits_), np.float32)
        for bit, direction in enumerate(self.bit_directions_.astype(np.intp)):
            grid, function = self.grids_[direction], self.eigenfunctions_[bit]
            out[:, bit] = np.interp(along[:, direction], grid, function)
        return out

    def _check_fitted_state(self) -> None:
        owner = type(self).__name__
        which = self.bit_directions_
        if not np.isin(which, np.arange(len(self.directions_))).all():
            _validation.raise_invalid("bit_directions_", owner, "rows of directions_", which)
        _validation.check_bandwidth(self.bandwidth_, "bandwidth_", owner)
