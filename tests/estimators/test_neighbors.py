"""HammingNeighborsTransformer gives the graphs of scikit-learn's transformers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bitfold as bf
from bitfold.errors import ParameterError


@parametrize_with_checks(
    [bf.HammingNeighborsTransformer(), bf.HammingNeighborsTransformer(radius=2)]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@given(
    st.sampled_from([1, 8, 60, 130]),
    st.integers(7, 40),
    st.sampled_from(["distance", "connectivity"]),
    st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_graphs_equal_those_of_scikit_learn(n_bits: int, n: int, mode: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Q = rng.integers(0, 2, (n, n_bits)), rng.integers(0, 2, (5, n_bits))
    # Between bits, the squared Euclidean distance is the Hamming distance.
    ours = bf.HammingNeighborsTransformer(5, mode=mode, binarize=None).fit(X)
    theirs = KNeighborsTransformer(n_neighbors=5, mode=mode, metric="sqeuclidean").fit(X)
    for queries in (X, Q):
        found, expected = ours.transform(queries), theirs.transform(queries)
        assert found.shape == expected.shape
        assert np.array_equal(found.indptr, expected.indptr)
        assert np.array_equal(found.data, np.round(expected.data))  # ids may differ within ties
        if mode == "distance":
            rows = np.repeat(np.arange(len(queries)), np.diff(found.indptr))
            exact = (queries[rows] != X[found.indices]).sum(axis=1)
            assert np.array_equal(found.data, exact)
    ours = bf.HammingNeighborsTransformer(radius=2, mode=mode, binarize=None).fit(X)
    near = RadiusNeighborsTransformer(radius=2.5, mode=mode, metric="sqeuclidean").fit(X)
    for queries in (X, Q):
        found, expected = ours.transform(queries), near.transform(queries)
        assert np.array_equal(found.indptr, expected.indptr)
        assert np.array_equal(found.toarray(), np.round(expected.toarray()))


def test_rows_are_sorted_and_zeros_are_stored() -> None:
    codes = bf.Codes.from_bits([[0, 0, 0], [0, 0, 0], [0, 1, 1], [1, 1, 1]])
    graph = bf.HammingNeighborsTransformer(2).fit_transform(codes)
    assert graph.indices.reshape(4, 3).tolist() == [[0, 1, 2], [0, 1, 2], [2, 3, 0], [3, 2, 0]]
    assert graph.data.reshape(4, 3).tolist() == [[0, 0, 2], [0, 0, 2], [0, 1, 2], [0, 1, 3]]
    ones = bf.HammingNeighborsTransformer(2, mode="connectivity").fit_transform(codes)
    assert ones.indices.reshape(4, 2).tolist() == [[0, 1], [0, 1], [2, 3], [3, 2]]
    near = bf.HammingNeighborsTransformer(radius=1).fit_transform(codes)
    assert near.indptr.tolist() == [0, 2, 4, 6, 8]
    assert near.nnz == 8


def test_graph_in_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 2, (3, 64))
    groups = np.repeat(np.arange(3), 20)
    X = np.where(rng.random((60, 64)) < 0.05, 1 - centers[groups], centers[groups])
    pipeline = make_pipeline(
        bf.HammingNeighborsTransformer(radius=16, binarize=0.5),
        DBSCAN(eps=16, min_samples=4, metric="precomputed"),
    )
    assert np.array_equal(pipeline.fit_predict(X), groups)


def test_fitted_transformer_survives_pickling() -> None:
    codes = bf.Codes.from_bits(np.random.default_rng(0).integers(0, 2, (30, 20)))
    transformer = bf.HammingNeighborsTransformer(3).fit(codes)
    restored = pickle.loads(pickle.dumps(transformer))
    assert (restored.transform(codes) != transformer.transform(codes)).nnz == 0
    assert len(transformer.get_feature_names_out()) == transformer.n_samples_fit_ == 30


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": 3}, "n_neighbors"),
        ({"radius": -1}, "radius"),
        ({"radius": 1.5}, "radius"),
        ({"mode": "weights"}, "mode"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError) as error:
        bf.HammingNeighborsTransformer(**parameters).fit_transform([[0, 1], [1, 1], [1, 0]])
    assert error.value.name == name


def test_as_many_neighbors_as_codes() -> None:
    X = [[0, 1], [1, 1], [1, 0]]
    assert bf.HammingNeighborsTransformer(2).fit_transform(X).nnz == 9
    assert bf.HammingNeighborsTransformer(3, mode="connectivity").fit_transform(X).nnz == 9
