"""LDAHash: covariances of all pairs, discriminant directions, and thresholds by brute force."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold._linalg.scatter import measure_scatter
from bitfold.errors import DataError, ParameterError
from bitfold.hashers import PCAH, LDAHash
from bitfold.hashers._labels import find_labeled_rows
from bitfold.hashers.ldahash import (
    IndexPairs,
    PairCovariances,
    draw_negative,
    draw_positive,
    find_differences,
    find_discriminants,
    find_threshold,
    pair_covariances,
)
from bitfold.io.rows import Rows
from bitfold.metrics import map_scorer

X, Y = load_digits(return_X_y=True)


def covariances(X: NDArray[Any], y: NDArray[Any]) -> PairCovariances:
    rows, labeled = Rows.centered(X, "test"), find_labeled_rows(y, len(X), "test")
    return pair_covariances(rows, labeled, measure_scatter(rows, labeled.rows, labeled.classes))


def brute_force(X: NDArray[Any], y: NDArray[Any]) -> PairCovariances:
    """Return both covariances by forming all pairs."""
    left, right = np.triu_indices(len(X), 1)
    same = y[left] == y[right]
    differences = X[left] - X[right]
    means = [d.T @ d / len(d) for d in (differences[same], differences[~same])]
    return PairCovariances(*means)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_covariances_agree_with_brute_force(offset: float) -> None:
    # Classes of different sizes, one of them with a single row; some rows are unlabeled.
    y = np.where(Y[:200] < 4, 0, Y[:200])
    y[:30], y[50] = -1, 77
    ours, theirs = (
        covariances(X[:200] + offset, y),
        brute_force(X[:200][y != -1], y[y != -1]),
    )
    np.testing.assert_allclose(ours.positive, theirs.positive, atol=1e-3)
    np.testing.assert_allclose(ours.negative, theirs.negative, atol=1e-3)


def test_covariances_of_several_blocks() -> None:
    # Every row occurs three times: pairs of equal rows add to the number of pairs only.
    rows, y = np.concatenate([X, X, X]), np.tile(Y, 3)
    sizes = np.bincount(Y)
    ours, once = covariances(rows, y), covariances(X, Y)
    fewer = (9 * sizes * (sizes - 1)).sum() / (3 * sizes * (3 * sizes - 1)).sum()
    np.testing.assert_allclose(ours.positive, fewer * once.positive, atol=2e-3)
    np.testing.assert_allclose(ours.negative, once.negative, atol=2e-3)


def ratio(pairs: PairCovariances, w: NDArray[Any], ridge: float) -> NDArray[np.float64]:
    floor = ridge * np.trace(pairs.positive) / len(pairs.positive)
    separated = np.einsum("ij,jk,ik->i", w, pairs.negative, w)
    kept = np.einsum("ij,jk,ik->i", w, pairs.positive + floor * np.eye(len(pairs.positive)), w)
    return np.asarray(separated / kept)


def test_directions_maximize_the_ratio() -> None:
    pairs = covariances(X, Y)
    directions = find_discriminants(pairs, 12, 1e-3)
    ratios = ratio(pairs, directions, 1e-3)
    assert (np.diff(ratios) <= 1e-9).all()
    assert (directions.max(axis=1) == np.abs(directions).max(axis=1)).all()
    floor = 1e-3 * np.trace(pairs.positive) / 64 * np.eye(64)
    values = np.linalg.eigvals(np.linalg.solve(pairs.positive + floor, pairs.negative)).real
    np.testing.assert_allclose(ratios, np.sort(values)[::-1][:12], rtol=1e-6)
    # Ten classes have nine directions that separate pairs of different classes better.
    assert ratios[8] > 1.2 > 1.1 > ratios[9]
    random = np.random.default_rng(0).standard_normal((1000, 64))
    assert ratio(pairs, random, 1e-3).max() < ratios[0]


@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
def test_directions_of_dif_maximize_the_difference(weight: float) -> None:
    pairs = covariances(X, Y)
    directions = find_differences(pairs, 12, weight)
    np.testing.assert_allclose(directions @ directions.T, np.eye(12), atol=1e-8)
    difference = pairs.negative - weight * pairs.positive
    found = np.einsum("ij,jk,ik->i", directions, difference, directions)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(difference)[::-1][:12], atol=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal((64, 12)))[0].T
        assert np.trace(other @ difference @ other.T) < found.sum()


def test_variants_have_different_directions() -> None:
    lda, dif = (LDAHash(9, variant=v, random_state=0).fit(X, Y) for v in ("lda", "dif"))
    expected = find_differences(covariances(X, Y), 9, 1.0)
    np.testing.assert_allclose(dif.directions_, expected, atol=1e-3)
    assert np.abs(dif.directions_ - lda.directions_).max() > 0.1
    assert map_scorer(dif, X, Y) > 0.35


def test_constant_features_are_ignored() -> None:
    padded = np.hstack([np.zeros((len(X), 5)), X])
    found = find_discriminants(covariances(padded, Y), 9, 1e-4)
    np.testing.assert_allclose(found[:, :5], 0, atol=1e-6 * np.abs(found).max())


def errors(values: NDArray[Any], t: float, positive: IndexPairs, negative: IndexPairs) -> float:
    """Return the rate of separated positive pairs plus that of other negative pairs."""
    separated = [
        np.mean((values[pairs.left] > t) != (values[pairs.right] > t))
        for pairs in (positive, negative)
    ]
    return float(separated[0] + 1 - separated[1])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("distinct", [None, 12])
def test_threshold_has_the_fewest_errors(seed: int, distinct: int | None) -> None:
    rng = np.random.default_rng(seed)
    classes = rng.integers(3, size=60)
    values = (rng.standard_normal(60) + classes).astype(np.float32)
    if distinct:
        values = np.round(values * distinct / 4).astype(np.float32)
    positive, negative = draw_positive(classes, 37, rng), draw_negative(classes, 53, rng)
    between = np.unique(values)
    tried = np.concatenate([between - 1, between, between + 1, (between[1:] + between[:-1]) / 2])
    least = min(errors(values, t, positive, negative) for t in tried)
    t = find_threshold(values, positive, negative)
    assert errors(values, t, positive, negative) == pytest.approx(least)
    assert not np.isin(t, between) or t == between.max()


def test_equal_values_have_a_threshold() -> None:
    pairs = IndexPairs(np.array([0, 1]), np.array([2, 3]))
    assert find_threshold(np.full(4, 2.5, np.float32), pairs, pairs) == 2.5


def test_pairs_are_drawn_uniformly() -> None:
    classes = np.array([0, 1, 0, 2, 1, 0, 0])
    rng = np.random.default_rng(0)
    for draw, same in ((draw_positive, True), (draw_negative, False)):
        pairs = draw(classes, 40_000, rng)
        seen = Counter(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
        possible = [
            (i, j)
            for i, j in itertools.permutations(range(7), 2)
            if (classes[i] == classes[j]) == same
        ]
        assert set(seen) == set(possible)
        np.testing.assert_allclose(
            [seen[pair] for pair in possible], 40_000 / len(possible), rtol=0.15
        )


def test_hasher_combines_directions_and_thresholds() -> None:
    hasher = LDAHash(9, n_pairs=20_000, random_state=0).fit(X, Y)
    expected = find_discriminants(covariances(X, Y), 9, 1e-4)
    np.testing.assert_allclose(
        hasher.directions_, expected, rtol=0, atol=1e-4 * np.abs(expected).max()
    )
    # With new pairs, no other threshold is much better.
    rng = np.random.default_rng(5)
    positive, negative = draw_positive(Y, 20_000, rng), draw_negative(Y, 20_000, rng)
    reals = hasher.embed(X)
    for bit in range(9):
        here = errors(reals[:, bit], 0, positive, negative)
        tried = np.quantile(reals[:, bit], TRIED).tolist()
        least = min(errors(reals[:, bit], t, positive, negative) for t in tried)
        assert here < least + 0.01


TRIED = np.linspace(0, 1, 101)


def test_unlabeled_rows_are_ignored() -> None:
    unlabeled = np.random.default_rng(0).normal(100, 50, (300, 64))
    order = np.random.default_rng(1).permutation(len(X) + 300)
    mixed = np.concatenate([X, unlabeled])[order]
    labels = np.concatenate([Y, np.full(300, -1)])[order]
    clean = labels != -1
    partly = LDAHash(9, random_state=0).fit(mixed, labels).embed(X)
    wholly = LDAHash(9, random_state=0).fit(mixed[clean], labels[clean]).embed(X)
    np.testing.assert_allclose(partly, wholly, atol=1e-3 * np.abs(wholly).mean())


def test_labels_improve_retrieval() -> None:
    train, test = slice(0, 1200), slice(1200, None)
    guided = LDAHash(9, random_state=0).fit(X[train], Y[train])
    blind = PCAH(9).fit(X[train])
    assert map_scorer(guided, X[test], Y[test]) > map_scorer(blind, X[test], Y[test]) + 0.05


def test_default_length_is_the_number_of_classes_minus_one() -> None:
    assert LDAHash(random_state=0).fit(X, Y).n_bits_ == 9
    assert LDAHash(random_state=0).fit(X, Y % 4).n_bits_ == 3
    assert LDAHash(random_state=0).fit(X[:, 20:25], Y).n_bits_ == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_bits", 65),
        ("n_pairs", 0),
        ("regularization", -1),
        ("positive_weight", 0.0),
        ("variant", "pca"),
    ],
)
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        LDAHash(**{name: value}).fit(X, Y)
    assert (caught.value.name, caught.value.owner) == (name, "LDAHash")


def test_classes_of_one_row_raise() -> None:
    with pytest.raises(DataError, match="y of LDAHash"):
        LDAHash(random_state=0).fit(X[:5], np.arange(5))
