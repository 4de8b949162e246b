"""HammingKMeans: known answers, brute force, and what scikit-learn expects of a clusterer."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import bitfold as bf
from bitfold._kernels import distinct
from bitfold.errors import DataError, ParameterError
from bitfold.estimators import kmeans


# Some data sets of scikit-learn's checks have a single code.
@pytest.mark.filterwarnings("ignore:There are only:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([bf.HammingKMeans()])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def draw_groups(n_bits: int, n_groups: int, n: int, noise: float, seed: int = 0) -> Any:
    """Return bits around random codes, and the group of each."""
    rng = np.random.default_rng(seed)
    centers = rng.integers(0, 2, (n_groups, n_bits), np.uint8)
    groups = rng.integers(0, n_groups, n)
    return centers[groups] ^ (rng.random((n, n_bits)) < noise), groups, centers


def test_separate_groups_are_found() -> None:
    bits, groups, centers = draw_groups(128, 12, 3000, noise=0.1)
    found = bf.HammingKMeans(12, random_state=0).fit(bf.Codes.from_bits(bits))
    assert adjusted_rand_score(found.labels_, groups) == 1
    # The majority of 250 codes with 10 % noise is the code they were made from.
    assert sorted(map(bytes, found.cluster_centers_)) == sorted(map(bytes, centers))
    assert found.inertia_ == np.count_nonzero(bits != centers[groups])


def test_known_answer() -> None:
    # Two groups: the majority of the first is 0000, of the second 1111.
    bits = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1], [1, 1, 1, 0], [0, 1, 1, 1]]
    found = bf.HammingKMeans(2, random_state=0).fit(bits)
    assert sorted(found.cluster_centers_.tolist()) == [[0, 0, 0, 0], [1, 1, 1, 1]]
    assert found.inertia_ == 4
    assert found.labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert found.predict([[0, 1, 0, 0]])[0] == found.labels_[0]


def naive_lloyd(bits: Any, centers: Any, n_iter: int) -> tuple[Any, Any, int]:
    """Return the centers, labels and inertia after some iterations, one code at a time."""
    for step in itertools.count():
        distances = (bits[:, None] != centers).sum(axis=2)
        labels = distances.argmin(axis=1)
        inertia = int(distances.min(axis=1).sum())
        if step == n_iter:
            return centers, labels, inertia
        centers = centers.copy()
        for c in set(labels.tolist()):
            twice, size = 2 * bits[labels == c].sum(axis=0), (labels == c).sum()
            centers[c] = np.where(twice == size, centers[c], twice > size)
    raise AssertionError


@given(
    st.sampled_from([1, 5, 63, 64, 65, 130, 200, 1030]),
    st.integers(2, 80),
    st.integers(1, 9),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_iterations_equal_a_loop(n_bits: int, n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2, (n, n_bits), np.uint8)
    bits = pool[rng.integers(0, n, n)]
    words = bf.Codes.from_bits(bits).words()
    rows, code_of = distinct.group_rows(words)
    if len(rows) < k:
        return
    columns = np.ascontiguousarray(rows.T)
    weights = np.bincount(code_of).astype(np.int64)
    seeds = kmeans._choose_seeds(columns, weights, k, np.random.default_rng(seed))
    assert len(set(seeds.tolist())) == k
    first = [int(np.flatnonzero(code_of == c)[0]) for c in seeds]
    for n_iter in (1, 2):
        expected, labels, inertia = naive_lloyd(bits, bits[first], n_iter)
        found = kmeans.k_majority(words, k, n_iter, 0.0, np.random.default_rng(seed))
        if len(set(naive_lloyd(bits, bits[first], n_iter - 1)[1].tolist())) < k:
            return  # an empty cluster was moved
        assert np.array_equal(kmeans._to_codes(found.centers, n_bits).unpack(), expected)
        assert np.array_equal(found.labels, labels)
        assert found.inertia == inertia


def test_no_iteration_raises_the_inertia() -> None:
    bits, _, _ = draw_groups(30, 40, 2000, noise=0.25)
    codes = bf.Codes.from_bits(bits)
    fits = [
        bf.HammingKMeans(25, max_iter=n, tol=0, random_state=0).fit(codes) for n in (1, 2, 4, 200)
    ]
    inertias = [fit.inertia_ for fit in fits]
    assert inertias == sorted(inertias, reverse=True)
    assert fits[-1].n_iter_ < 200
    for fit in fits:
        assert len(set(fit.labels_.tolist())) == 25
        assert np.array_equal(fit.predict(codes), fit.labels_)
        distances = (bits != fit.cluster_centers_[fit.labels_]).sum()
        assert fit.inertia_ == distances


def test_inertia_is_close_to_that_of_k_means() -> None:
    bits, _, _ = draw_groups(64, 20, 3000, noise=0.2)
    codes = bf.Codes.from_bits(bits)
    ours = min(bf.HammingKMeans(20, random_state=s).fit(codes).inertia_ for s in range(6))
    centers = KMeans(20, n_init=6, random_state=0).fit(bits.astype(float)).cluster_centers_ > 0.5
    theirs = (bits[:, None] != centers).sum(axis=2).min(axis=1).sum()
    assert ours <= 1.02 * theirs


def test_result_does_not_depend_on_threads_or_order_of_equal_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bits, _, _ = draw_groups(20, 30, 40_000, noise=0.2)
    codes = bf.Codes.from_bits(bits)
    several = bf.HammingKMeans(30, max_iter=5, random_state=0).fit(codes)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(kmeans, "_CODES_PER_BLOCK", 1000)
    alone = clone(several).fit(codes)
    assert np.array_equal(several.labels_, alone.labels_)
    assert np.array_equal(several.cluster_centers_, alone.cluster_centers_)
    assert (several.inertia_, several.n_iter_) == (alone.inertia_, alone.n_iter_)


def test_empty_clusters_move_to_far_codes() -> None:
    columns = np.array([[0, 1, 3, 2**40 - 1]], np.uint64)
    labels, distances = np.zeros(4, np.int32), np.array([0, 1, 2, 40])
    centers = np.array([[0], [0], [0]], np.uint64)
    moved, n_changed = kmeans._move_centers(
        columns, np.ones(4, np.int64), labels, distances, centers
    )
    assert moved[1:, 0].tolist() == [2**40 - 1, 3]
    assert n_changed == 3


def test_sample_for_the_first_centers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans, "_MIN_SEEDING_CODES", 100)
    bits, groups, _ = draw_groups(256, 6, 2000, noise=0.1)
    found = bf.HammingKMeans(6, random_state=0).fit(bf.Codes.from_bits(bits))
    assert adjusted_rand_score(found.labels_, groups) == 1


def test_codes_and_numbers_give_the_same_clusters() -> None:
    X = np.random.default_rng(0).standard_normal((200, 70))
    codes = bf.Codes.from_bits(X > 0.5)
    by_codes = bf.HammingKMeans(4, random_state=1).fit(codes)
    by_numbers = bf.HammingKMeans(4, binarize=0.5, random_state=1).fit(X)
    by_bits = bf.HammingKMeans(4, binarize=None, random_state=1).fit(codes.unpack())
    assert by_codes.n_features_in_ == by_numbers.n_features_in_ == 70
    for other in (by_numbers, by_bits):
        assert np.array_equal(by_codes.labels_, other.labels_)
        assert np.array_equal(by_codes.cluster_centers_, other.cluster_centers_)
    assert np.array_equal(by_numbers.predict(codes), by_numbers.predict(X))
    restored = pickle.loads(pickle.dumps(by_codes))
    assert np.array_equal(restored.predict(codes), by_codes.labels_)


def test_fewer_distinct_codes_than_clusters() -> None:
    with pytest.warns(ConvergenceWarning, match="only 2 distinct codes for 3 clusters"):
        found = bf.HammingKMeans(3, random_state=0).fit([[0, 1], [0, 1], [1, 0], [1, 0]])
    assert found.inertia_ == 0
    assert len(set(found.labels_.tolist())) == 2


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 4}, "n_clusters"),
        ({"n_clusters": 2.0}, "n_clusters"),
        ({"n_clusters": 2, "max_iter": 0}, "max_iter"),
        ({"n_clusters": 2, "tol": -1}, "tol"),
        ({"n_clusters": 2, "tol": "low"}, "tol"),
        ({"n_clusters": 2, "binarize": "0"}, "binarize"),
        ({"n_clusters": 2, "binarize": np.nan}, "binarize"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError) as error:
        bf.HammingKMeans(**parameters).fit([[0, 1], [1, 1], [1, 0]])
    assert error.value.name == name


def test_wrong_input() -> None:
    with pytest.raises(DataError, match="only 0 and 1"):
        bf.HammingKMeans(1, binarize=None).fit([[0, 2]])
    with pytest.raises(DataError, match="at least one code"):
        bf.HammingKMeans(1).fit(bf.Codes(np.empty((0, 1), np.uint8), 8))
    fitted = bf.HammingKMeans(1).fit([[0, 1]])
    with pytest.raises(ParameterError, match="2 bits, as in fit, got 3 bits"):
        fitted.predict(bf.Codes.from_bits([[0, 1, 1]]))
