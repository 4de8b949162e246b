"""Multidimensional spectral hashing: eigenfunctions, and affinities from codes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from bitfold.codes import Codes
from bitfold.errors import DataError, ParameterError
from bitfold.hashers import MDSH
from bitfold.hashers.mdsh import product_affinity
from bitfold.metrics import average_precision, scan_histograms

Array = NDArray[Any]
RNG = np.random.default_rng(0)


def blob(n: int = 1500) -> Array:
    """Return normally distributed points with different variances per feature."""
    return np.random.default_rng(1).normal(0, [3.0, 2.0, 1.0], (n, 3))


def test_product_affinity_is_the_sum_over_all_products() -> None:
    directions = np.array([0, 1, 0, 2, 1, 0])
    weights = np.array([0.9, 0.8, 0.5, 0.4, 0.3, 0.2], np.float32)
    a, b = (np.sign(RNG.normal(size=(n, 6))).astype(np.float32) for n in (4, 7))
    expected = np.zeros((4, 7))
    own = [[-1, *np.flatnonzero(directions == i)] for i in range(3)]
    for bits in product(*own):
        factors = [bit for bit in bits if bit >= 0]
        if factors:
            left, right = a[:, factors].prod(axis=1), b[:, factors].prod(axis=1)
            expected += weights[factors].prod() * np.outer(left, right)
    np.testing.assert_allclose(product_affinity(a, b, weights, directions), expected, rtol=1e-4)


def test_affinity_is_better_than_hamming_distance() -> None:
    X = np.random.default_rng(1).uniform(0, [6, 4, 2], (1500, 3))
    ours, few = (MDSH(n_bits, bandwidth=0.7).fit(X) for n_bits in (30, 4))
    codes = ours.encode(X)
    truth = np.exp(-np.square(pairwise_distances(X[:200], X)) / 2 / 0.7**2).ravel()
    hamming = (codes[:200].unpack()[:, None] != codes.unpack()).sum(axis=2).ravel()
    by_affinity = np.corrcoef(ours.affinity(codes[:200], codes).ravel(), truth)[0, 1]
    assert by_affinity > 0.65
    assert by_affinity > np.corrcoef(-hamming, truth)[0, 1] + 0.2
    by_few = few.affinity(few.encode(X[:200]), few.encode(X)).ravel()
    assert by_affinity > np.corrcoef(by_few, truth)[0, 1] + 0.08


def test_affinity_does_not_depend_on_the_batch() -> None:
    X = load_digits().data
    ours = MDSH(32).fit(X)
    codes = Codes.concatenate([ours.encode(X)] * 4)
    whole = ours.affinity(codes[:30], codes)
    assert whole.dtype == np.float32
    assert whole.shape == (30, len(codes))
    part = ours.affinity(codes[5:6], codes[1000:1010])
    np.testing.assert_allclose(whole[5:6, 1000:1010], part, rtol=1e-4, atol=1e-6)


def test_invalid_codes_raise() -> None:
    ours = MDSH(5).fit(blob())
    codes = ours.encode(blob())
    with pytest.raises(ValueError, match=r"codes_b of MDSH .* got 3"):
        ours.affinity(codes, Codes.from_bits(np.ones((2, 3), bool)))
    with pytest.raises(TypeError, match=r"codes_a of MDSH .*ndarray"):
        ours.affinity(codes.packed, codes)  # type: ignore[arg-type]


def test_embedding_interpolates_eigenfunctions() -> None:
    X = blob()
    ours = MDSH(8).fit(X)
    reals = ours.embed(X)
    for bit, direction in enumerate(ours.bit_directions_.astype(int)):
        projected = (X - ours.center_) @ ours.directions_[direction]
        expected = np.interp(projected, ours.grids_[direction], ours.eigenfunctions_[bit])
        np.testing.assert_allclose(reals[:, bit], expected, atol=1e-4)


def test_default_bandwidth_is_a_quarter_of_the_rms_distance() -> None:
    X = blob(400)
    distances = pairwise_distances(X)
    expected = np.sqrt(np.mean(np.square(distances))) / 4
    np.testing.assert_allclose(MDSH(4).fit(X).bandwidth_, expected, rtol=1e-3)


def test_few_eigenfunctions_have_several_thresholds() -> None:
    X = blob()[:, :1]
    ours = MDSH(64).fit(X)
    n_functions = len(np.unique(ours.eigenvalues_))
    assert n_functions < 10
    bits = ours.transform(X)
    # Bits of one function are its quantiles: each is implied by the next.
    first = np.flatnonzero(ours.eigenvalues_ == ours.eigenvalues_[0])
    assert len(first) >= 64 // n_functions
    assert (np.diff(bits[:, first].astype(int), axis=1) <= 0).all()
    expected = 1 - np.arange(1, len(first) + 1) / (len(first) + 1)
    np.testing.assert_allclose(bits[:, first].mean(axis=0), expected, atol=0.03)


def test_weak_eigenfunctions_have_no_bits() -> None:
    X = load_digits().data
    for min_weight in (0.05, 0.3, 1.0):
        values = MDSH(64, min_weight=min_weight).fit(X).eigenvalues_
        assert (np.diff(values) <= 0).all()
        assert values[-1] >= min_weight * values[0]
    few = MDSH(8, min_weight=0.01).fit(X)
    assert len(np.unique(few.eigenvalues_)) == 8


def test_embedding_is_weighted_by_eigenvalues() -> None:
    # The mean square of an eigenfunction over the data is 1.
    X = blob(4000)
    ours = MDSH(6, min_weight=0.01).fit(X)
    spread = ours.embed(X).std(axis=0)
    np.testing.assert_allclose(spread, ours.eigenvalues_, rtol=0.1)


def test_asymmetric_search_and_affinity_are_better_than_hamming_distance() -> None:
    X, y = load_digits(return_X_y=True)
    queries, database = X[1200:], X[:1200]
    ours = MDSH(64).fit(database)
    codes, query_codes = ours.encode(database), ours.encode(queries)
    relevant = y[1200:, None] == y[:1200]
    signs = codes.unpack() * 2.0 - 1
    by_hamming = -(query_codes.unpack() * 2.0 - 1) @ signs.T
    scores = [
        average_precision(scan_histograms(distances, relevant)).mean()
        for distances in (
            by_hamming,
            -ours.affinity(query_codes, codes),
            -ours.embed(queries) @ signs.T,
        )
    ]
    assert scores[0] < scores[1] < scores[2]


@pytest.mark.parametrize("min_weight", [0.0, 1.5])
def test_invalid_min_weight_raises(min_weight: float) -> None:
    with pytest.raises(ParameterError, match="min_weight of MDSH"):
        MDSH(min_weight=min_weight).fit(blob())


def test_equal_rows_raise() -> None:
    with pytest.raises(DataError, match="MDSH"):
        MDSH().fit(np.ones((10, 3)))
