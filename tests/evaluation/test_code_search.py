"""Searches with codes are measured as users get them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from bitfold import HammingIndex, datasets
from bitfold.datasets import Dataset
from bitfold.evaluation import (
    find_metric,
    make_baseline,
    measure_search,
    search_exact,
    search_index,
)
from bitfold.hashers import ITQ, LSH, DualHasher
from bitfold.metrics import all_tied, average_precision, recall_at_k, scan_histograms
from bitfold.search import RerankByVectors


@pytest.fixture(scope="module")
def data() -> Dataset:
    return datasets.digits(n_queries=100)


@pytest.mark.parametrize("symmetric", [False, True])
def test_measures_are_those_of_the_hits(data: Dataset, symmetric: bool) -> None:
    hasher = ITQ(12, random_state=0).fit(data.database)
    codes, queries = hasher.encode(data.database), hasher.encode(data.queries)
    exact = search_exact(data.database, data.queries, data.relevance)
    quality = measure_search(hasher, codes, data.queries, exact, symmetric=symmetric)
    index = HammingIndex(12)
    index.add(codes)
    embedding = None if symmetric else hasher.embed(data.queries)
    search = partial(index.search, queries, query_embedding=embedding)
    hits = search(10)
    same = data.labels[hits.ids] == data.query_labels[:, None]
    assert quality.precision_10 == pytest.approx(same.mean())
    assert quality.recall_10 == pytest.approx(recall_at_k(hits.ids, exact.ids, 10).mean())
    assert quality.tied == pytest.approx(all_tied(hits.distances, 10).mean())
    assert quality.tied is not None
    assert 0 < quality.tied < 1
    assert quality.n_distinct == len(np.unique(codes.packed, axis=0))
    order = search(len(codes))
    relevant = data.labels[order.ids] == data.query_labels[:, None]
    expected_map = average_precision(scan_histograms(order.distances, relevant)).mean()
    assert quality.map == pytest.approx(expected_map, abs=1e-3)
    rescored = search(10, rerank=RerankByVectors(data.database, data.queries, 40))
    expected = recall_at_k(rescored.ids, exact.ids, 10).mean()
    assert quality.recall_10_from_40 == pytest.approx(expected, abs=0.002)


def test_order_of_ids_matters(data: Dataset) -> None:
    """Sorted by label, tied hits all have the first label; that is what a user gets."""
    order = np.argsort(data.labels, kind="stable")
    hasher = LSH(1, random_state=0).fit(data.database)
    exact = search_exact(data.database, data.queries, data.relevance)
    by_label = Dataset(data.database[order], data.queries, data.labels[order], data.query_labels)
    sorted_exact = search_exact(by_label.database, data.queries, by_label.relevance)
    mixed = measure_search(hasher, hasher.encode(data.database), data.queries, exact)
    sorted_ = measure_search(hasher, hasher.encode(by_label.database), data.queries, sorted_exact)
    assert mixed.map == pytest.approx(sorted_.map)
    assert mixed.precision_10 != pytest.approx(sorted_.precision_10)


@pytest.mark.parametrize("symmetric", [False, True])
def test_search_is_that_of_the_index(data: Dataset, symmetric: bool) -> None:
    hasher = ITQ(16, random_state=0).fit(data.database)
    index = HammingIndex(16)
    index.add(hasher.encode(data.database))
    hits = search_index(index, hasher, data.queries, 7, symmetric=symmetric)
    embedding = None if symmetric else hasher.embed(data.queries)
    expected = index.search(hasher.encode(data.queries), 7, query_embedding=embedding)
    np.testing.assert_array_equal(hits.ids, expected.ids)
    np.testing.assert_array_equal(hits.distances, expected.distances)


def test_asymmetric_search_is_the_better_default(data: Dataset) -> None:
    hasher = DualHasher(64, random_state=0).fit(data.database)
    codes = hasher.encode(data.database)
    exact = search_exact(data.database, data.queries, data.relevance)
    default, hamming = (
        measure_search(hasher, codes, data.queries, exact, **options)
        for options in ({}, {"symmetric": True})
    )
    assert default.recall_10 > hamming.recall_10 + 0.02
    assert default.recall_10_from_40 > hamming.recall_10_from_40


def test_baseline_has_the_same_length(data: Dataset) -> None:
    baseline = make_baseline(LSH(64, random_state=0).fit(data.database), seed=3)
    assert isinstance(baseline, ITQ)
    assert (baseline.n_bits, baseline.random_state) == (64, 3)
    assert isinstance(make_baseline(LSH(65).fit(data.database)), LSH)
    assert isinstance(make_baseline(ITQ(8).fit(data.database)), LSH)


@pytest.mark.parametrize(("normalize", "metric"), [(False, "l2"), (True, "cosine")])
def test_metric_and_baseline_follow_from_the_hasher(
    data: Dataset, normalize: bool, metric: str
) -> None:
    hasher = LSH(8, normalize=normalize, random_state=0).fit(data.database)
    # Changed parameters have no effect until the next fit.
    hasher.normalize = not normalize
    assert find_metric(hasher) == metric
    assert make_baseline(hasher).get_params()["normalize"] is normalize
