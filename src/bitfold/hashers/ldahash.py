"""LDAHash: discriminant directions of pairs, each cut where it errs least."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import n_bits_within_features, project_sample
from bitfold._linalg.scatter import Scatter, measure_scatter
from bitfold._linalg.spectral import fix_signs, largest_eigenvectors, whiten_covariance
from bitfold._threads import serial_blas
from bitfold._types import Float32Array, Float64Array, Int64Array, ProgressCallback, Seed
from bitfold.hashers._labels import Labeled, SupervisedMixin, labeled
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows, block_length

SAMPLE = 1 << 16
"""Rows that pairs are drawn from."""


class PairCovariances(NamedTuple):
    """Mean of (x - x')(x - x')ᵀ over pairs of one class, and over pairs of two."""

    positive: Float64Array
    negative: Float64Array


def pair_covariances(rows: Rows, known: Labeled, measured: Scatter) -> PairCovariances:
    """Return both covariances over all pairs there are, without forming any.

    The differences of all pairs of a set of n have the total 2n² C for its covariance C. So the
    classes give the positive pairs, and all rows less the classes the negative ones.
    """
    sizes = measured.sizes.astype(np.float64)
    n, same = sizes.sum(), (sizes**2).sum()
    in_classes = _class_weighted(rows, known, measured)
    positive = 2 * n * in_classes / (sizes * (sizes - 1)).sum()
    negative = 2 * (n * n * measured.covariance - n * in_classes) / (n * n - same)
    return PairCovariances(positive, negative)


def _class_weighted(rows: Rows, known: Labeled, measured: Scatter) -> Float64Array:
    """Σ_c n_c/n Σ_{x in c} (x - m_c)(x - m_c)ᵀ, which is Σ_c n_c² C_c / n."""
    step = block_length(rows.n_features)
    means = measured.means.astype(np.float32)
    weights = np.sqrt(measured.shares).astype(np.float32)

    def of_block(values: Float32Array, start: int) -> Float32Array:
        first, last = np.searchsorted(known.rows, (start, start + step))
        classes = known.classes[first:last]
        values = values[known.rows[first:last] - start]
        values -= means[classes]
        values *= weights[classes, None]
        product: Float32Array = values.T @ values
        return product

    total = np.zeros_like(measured.covariance)
    for _, part in rows.map(of_block, step):
        total += part
    return total


def discriminants(pairs: PairCovariances, n: int, regularization: float) -> Float64Array:
    """Return the n directions w, one a row, that maximize wᵀ Σ_N w / wᵀ Σ_P w.

    The paper minimizes the inverse ratio, which is the same but for what never varies: there 0/0
    must not win, so it is Σ_P that is whitened and regularized.
    """
    W = whiten_covariance(pairs.positive, regularization)
    found = W @ largest_eigenvectors(W.T @ pairs.negative @ W, n).vectors
    return np.ascontiguousarray(fix_signs(found).T)


class Pairs(NamedTuple):
    """Two ends of each of some pairs, as positions."""

    left: Int64Array
    right: Int64Array


class _Order(NamedTuple):
    """Rows sorted by class: which row stands where; each class's start and size; each's class."""

    rows: Int64Array
    starts: Int64Array
    sizes: Int64Array
    classes: Int64Array


def _by_class(classes: Int64Array) -> _Order:
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    return _Order(order, np.cumsum(sizes) - sizes, sizes, classes[order])


def draw_positive(classes: Int64Array, count: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of one class, any such pair alike."""
    rows, starts, sizes, of = _by_class(classes)
    partners = (sizes - 1)[of]
    left = rng.choice(len(of), count, p=partners / partners.sum())
    right = starts[of[left]] + rng.integers(partners[left])
    right += right >= left  # not itself
    return Pairs(rows[left], rows[right])


def draw_negative(classes: Int64Array, count: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of two classes, any such pair alike."""
    rows, starts, sizes, of = _by_class(classes)
    partners = (len(of) - sizes)[of]
    left = rng.choice(len(of), count, p=partners / partners.sum())
    right = rng.integers(partners[left])
    right += np.where(right >= starts[of[left]], sizes[of[left]], 0)  # not of its class
    return Pairs(rows[left], rows[right])


def best_threshold(values: Float64Array | Float32Array, positive: Pairs, negative: Pairs) -> float:
    """Return the t at which {value > t} errs least: positive pairs parted, negative ones not.

    A pair is parted by t from its lesser value on, up to its greater one. So the rates change at
    the values of the ends alone, and going through these in order finds the exact minimum.
    """
    # Whole numbers: a positive pair weighs as many as there are negative ones, and vice versa.
    ends, steps = [], []
    for (left, right), weight in ((positive, len(negative.left)), (negative, -len(positive.left))):
        ends += [np.minimum(values[left], values[right]), np.maximum(values[left], values[right])]
        steps += [np.full(len(left), weight), np.full(len(left), -weight)]
    all_ends = np.concatenate(ends)
    order = np.argsort(all_ends, kind="stable")
    places = all_ends[order].astype(np.float64)
    errors = np.cumsum(np.concatenate(steps)[order])
    last = np.flatnonzero(np.append(np.diff(places) > 0, True))  # of ends that are equal
    best = int(np.argmin(errors[last]))
    above = places[last[min(best + 1, len(last) - 1)]]
    return float((places[last[best]] + above) / 2)


class LDAHash(SupervisedMixin, LinearHasher):
    """Directions that part pairs of two classes most and pairs of one class least.

    Each direction is cut at the threshold where parted pairs of one class and unparted pairs of
    two are fewest together. There are as many good directions as classes, less one: all others
    part both kinds of pairs alike, and codes longer than that are worse. Rows labeled -1 are left
    out.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of features; None is the number of classes less
        one, or as many as there are features.
    n_pairs
        Pairs of one class, and of two, that thresholds are learned from.
    regularization
        What is added to the variance of every feature among pairs of one class, in units of their
        mean variance.
    random_state
        Seed or generator.

    References
    ----------
    Strecha et al., *LDAHash: improved matching with smaller descriptors*, PAMI 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> LDAHash(n_bits=32, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        n_pairs: int = 20_000,
        regularization: float = 1e-4,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_pairs = n_pairs
        self.regularization = regularization
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = None if self.n_bits is None else n_bits_within_features(self.n_bits, rows)
        n_pairs = _validation.check_integer(self.n_pairs, "n_pairs", rows.owner, low=1)
        regularization = _validation.check_positive(
            self.regularization, "regularization", rows.owner
        )
        known = labeled(y, len(rows), rows.owner)
        n_bits = n_bits or min(known.n_classes - 1, rows.n_features)
        if len(known.rows) == known.n_classes:
            _validation.raise_invalid("y", rows.owner, "labels that some rows share", "none twice")
        for_rows, for_pairs = _validation.spawn_generators(self.random_state, 2)
        pairs = pair_covariances(rows, known, measure_scatter(rows, known.rows, known.classes))
        with serial_blas():  # the same directions on any number of cores
            directions = discriminants(pairs, n_bits, regularization)
        progress("directions", 1, 1)
        part = known.sample(SAMPLE, for_rows)
        V = project_sample(rows, directions, len(part.rows), for_rows, part.rows)
        positive = draw_positive(part.classes, n_pairs, for_pairs)
        negative = draw_negative(part.classes, n_pairs, for_pairs)
        thresholds = np.empty(n_bits)
        for bit in range(n_bits):
            thresholds[bit] = best_threshold(V[:, bit], positive, negative)
            progress("thresholds", bit + 1, n_bits)
        return self._fitted_hyperplanes(directions, thresholds)
