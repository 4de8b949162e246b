"""LDAHash: directions that separate pairs, each with the threshold of fewest errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import n_bits_within_features, project_sample
from bitfold._linalg.scatter import Scatter, measure_scatter
from bitfold._linalg.spectral import fix_signs, largest_eigenvectors, whiten_covariance
from bitfold._types import Float32Array, Float64Array, Int64Array, ProgressCallback, Seed
from bitfold.hashers._labels import LabeledRows, SupervisedMixin, find_labeled_rows
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows, block_length

MAX_SAMPLE_ROWS = 1 << 16
"""Maximum number of rows that pairs are drawn from."""


class PairCovariances(NamedTuple):
    """Mean of (x - x')(x - x')ᵀ over pairs of the same class, and over pairs of different ones."""

    positive: Float64Array
    negative: Float64Array


def pair_covariances(rows: Rows, labeled: LabeledRows, scatter: Scatter) -> PairCovariances:
    """Return both covariances over all pairs, without forming a pair.

    The differences of all pairs among n rows with the covariance C have the sum 2n² C. Applied to
    each class, this gives the positive pairs; all rows minus the classes give the negative ones.

    Parameters
    ----------
    rows
        All rows.
    labeled
        The labeled rows.
    scatter
        Class means and covariance of the labeled rows.

    Returns
    -------
    The covariances.
    """
    sizes = scatter.sizes.astype(np.float64)
    n, n_same = sizes.sum(), (sizes**2).sum()
    within = _weighted_covariance(rows, labeled, scatter)
    positive = 2 * n * within / (sizes * (sizes - 1)).sum()
    negative = 2 * (n * n * scatter.covariance - n * within) / (n * n - n_same)
    return PairCovariances(positive, negative)


def _weighted_covariance(rows: Rows, labeled: LabeledRows, scatter: Scatter) -> Float64Array:
    """Return Σ_c n_c/n Σ_{x in c} (x - m_c)(x - m_c)ᵀ, which is Σ_c n_c² C_c / n."""
    step = block_length(rows.n_features)
    means = scatter.means.astype(np.float32)
    weights = np.sqrt(scatter.shares).astype(np.float32)

    def multiply_block(values: Float32Array, start: int) -> Float32Array:
        first, last = np.searchsorted(labeled.rows, (start, start + step))
        classes = labeled.classes[first:last]
        values = values[labeled.rows[first:last] - start]
        values -= means[classes]
        values *= weights[classes, None]
        return values.T @ values

    total = np.zeros_like(scatter.covariance)
    for _, part in rows.map(multiply_block, step):
        total += part
    return total


def find_discriminants(pairs: PairCovariances, n: int, regularization: float) -> Float64Array:
    """Return the n directions w, one per row, that maximize wᵀ Σ_N w / wᵀ Σ_P w.

    The paper minimizes the inverse ratio. The difference is in directions without any variance,
    where the ratio is 0/0: they must not win, so Σ_P is the matrix to whiten and regularize.

    Parameters
    ----------
    pairs
        Covariances Σ_P of positive and Σ_N of negative pairs.
    n
        Number of directions.
    regularization
        Added to the variances of Σ_P, in units of their mean.

    Returns
    -------
    One direction per row.
    """
    W = whiten_covariance(pairs.positive, regularization)
    found = W @ largest_eigenvectors(W.T @ pairs.negative @ W, n).vectors
    return np.ascontiguousarray(fix_signs(found).T)


def find_differences(pairs: PairCovariances, n: int, positive_weight: float) -> Float64Array:
    """Return the n orthogonal directions w, one per row, that maximize wᵀ (Σ_N - α Σ_P) w.

    Parameters
    ----------
    pairs
        Covariances Σ_P of positive and Σ_N of negative pairs.
    n
        Number of directions.
    positive_weight
        α.

    Returns
    -------
    One unit direction per row.
    """
    difference = pairs.negative - positive_weight * pairs.positive
    return np.ascontiguousarray(largest_eigenvectors(difference, n).vectors.T)


class IndexPairs(NamedTuple):
    """Indices of the two members of each pair."""

    left: Int64Array
    right: Int64Array


def _sort_by_class(
    classes: Int64Array,
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Return row indices sorted by class, start and size of each class, and the sorted classes."""
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    return order, np.cumsum(sizes) - sizes, sizes, classes[order]


def draw_positive(classes: Int64Array, n_pairs: int, rng: np.random.Generator) -> IndexPairs:
    """Draw pairs of rows of the same class, all such pairs with the same probability."""
    rows, starts, sizes, sorted_classes = _sort_by_class(classes)
    n_partners = (sizes - 1)[sorted_classes]
    left = rng.choice(len(rows), n_pairs, p=n_partners / n_partners.sum())
    right = starts[sorted_classes[left]] + rng.integers(n_partners[left])
    right += right >= left  # skips the row itself
    return IndexPairs(rows[left], rows[right])


def draw_negative(classes: Int64Array, n_pairs: int, rng: np.random.Generator) -> IndexPairs:
    """Draw pairs of rows of different classes, all such pairs with the same probability."""
    rows, starts, sizes, sorted_classes = _sort_by_class(classes)
    n_partners = (len(rows) - sizes)[sorted_classes]
    left = rng.choice(len(rows), n_pairs, p=n_partners / n_partners.sum())
    own = sorted_classes[left]
    right = rng.integers(n_partners[left])
    right += np.where(right >= starts[own], sizes[own], 0)  # skips the class of the row
    return IndexPairs(rows[left], rows[right])


def find_threshold(
    values: Float64Array | Float32Array, positive: IndexPairs, negative: IndexPairs
) -> float:
    """Return the threshold with the fewest errors.

    A positive pair is an error if the threshold separates it, a negative pair if it does not. A
    threshold separates a pair from its smaller value up to its larger one, so that the number of
    errors changes only at values of the pairs. One sorted pass over them finds the minimum.

    Parameters
    ----------
    values
        Coordinates of the rows along a direction.
    positive
        Pairs of the same class.
    negative
        Pairs of different classes.

    Returns
    -------
    The middle between the best value and the next one.
    """
    # Integer weights: positive and negative pairs have the same total weight, and sums are exact.
    ends, steps = [], []
    for (left, right), weight in ((positive, len(negative.left)), (negative, -len(positive.left))):
        ends += [np.minimum(values[left], values[right]), np.maximum(values[left], values[right])]
        steps += [np.full(len(left), weight), np.full(len(left), -weight)]
    all_ends = np.concatenate(ends)
    order = np.argsort(all_ends, kind="stable")
    sorted_ends = all_ends[order].astype(np.float64)
    errors = np.cumsum(np.concatenate(steps)[order])
    last_of_equal = np.flatnonzero(np.append(np.diff(sorted_ends) > 0, True))
    best = int(np.argmin(errors[last_of_equal]))
    above = sorted_ends[last_of_equal[min(best + 1, len(last_of_equal) - 1)]]
    return float((sorted_ends[last_of_equal[best]] + above) / 2)


class LDAHash(SupervisedMixin, LinearHasher):
    """Directions that separate pairs of different classes, but not pairs of the same class.

    "lda" maximizes the ratio of the two variances, "dif" their difference, with orthogonal
    directions.

    The threshold of each direction is the one with the fewest errors: separated pairs of the same
    class, and pairs of different classes that are not separated. k classes have k - 1 good
    directions. All others separate both kinds of pairs equally, so that longer codes are worse.
    Rows labeled -1 are ignored.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of features. None uses the number of classes - 1,
        or the number of features if that is smaller.
    variant
        "lda" or "dif".
    n_pairs
        Number of pairs of the same class, and of different classes, that thresholds are learned
        from.
    regularization
        Added to the variance of every feature within pairs of the same class, in units of the mean
        variance; for "lda".
    positive_weight
        α, the weight of pairs of the same class in the difference; for "dif".
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit.
    thresholds_
        Offset of each hyperplane along its normal.

    References
    ----------
    Strecha et al., *LDAHash: improved matching with smaller descriptors*, PAMI 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import LDAHash
    >>> X, y = load_digits(return_X_y=True)
    >>> LDAHash(n_bits=32, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        variant: str = "lda",
        n_pairs: int = 20_000,
        regularization: float = 1e-4,
        positive_weight: float = 1.0,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.variant = variant
        self.n_pairs = n_pairs
        self.regularization = regularization
        self.positive_weight = positive_weight
        self.normalize = normalize
        self.random_state = random_state

    def _check_variant(self, owner: str) -> Callable[[PairCovariances, int], Float64Array]:
        """Return the function that finds the directions of the variant."""
        check = _validation.check_positive
        regularization = check(self.regularization, "regularization", owner)
        positive_weight = check(self.positive_weight, "positive_weight", owner)
        if _validation.check_choice(self.variant, "variant", owner, ("lda", "dif")) == "lda":
            return partial(find_discriminants, regularization=regularization)
        return partial(find_differences, positive_weight=positive_weight)

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = None if self.n_bits is None else n_bits_within_features(self.n_bits, rows)
        n_pairs = _validation.check_integer(self.n_pairs, "n_pairs", rows.owner, low=1)
        find = self._check_variant(rows.owner)
        labeled = find_labeled_rows(y, len(rows), rows.owner)
        n_bits = n_bits or min(labeled.n_classes - 1, rows.n_features)
        labeled.require_pair(rows.owner)
        sample_rng, pair_rng = _validation.spawn_generators(self.random_state, 2)
        scatter = measure_scatter(rows, labeled.rows, labeled.classes)
        pairs = pair_covariances(rows, labeled, scatter)
        directions = find(pairs, n_bits)
        progress("directions", 1, 1)
        chosen = labeled.sample(MAX_SAMPLE_ROWS, sample_rng)
        V = project_sample(rows, directions, len(chosen.rows), sample_rng, chosen.rows)
        positive = draw_positive(chosen.classes, n_pairs, pair_rng)
        negative = draw_negative(chosen.classes, n_pairs, pair_rng)
        thresholds = np.empty(n_bits)
        for bit in range(n_bits):
            thresholds[bit] = find_threshold(V[:, bit], positive, negative)
            progress("thresholds", bit + 1, n_bits)
        return self._fitted_hyperplanes(directions, thresholds)
