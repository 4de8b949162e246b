"""Quality of first hits by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bitfold.evaluation import measure_chance, measure_hits
from bitfold.metrics import DistanceHistograms, Relevance, average_precision


def test_hits_by_hand() -> None:
    true = np.arange(200)[None, :100]
    # Eight of the ten neighbors come first, one is at rank 40, one at rank 41.
    found = np.r_[0:8, 100:131, 8, 9, 131:190][None]
    quality = measure_hits(found, true, Relevance.from_neighbors([[0, 1, 100, 9]]))
    assert quality.recall_10 == pytest.approx(0.8)
    assert quality.recall_10_from_40 == pytest.approx(0.9)
    assert quality.recall_10_from_100 == 1
    assert quality.precision_10 == pytest.approx(0.3)
    assert quality.precision_100 == pytest.approx(0.04)


def test_values_of_others_are_passed_on() -> None:
    quality = measure_hits([[0]], [[0]], known_map=0.4, tied=0.5, n_distinct=7)
    assert (quality.map, quality.tied, quality.n_distinct) == (0.4, 0.5, 7)
    record = json.loads(json.dumps(quality.to_record()))
    assert record["precision_10"] is None
    assert record["n_distinct"] == 7


def test_chance_is_the_mean_over_random_orders() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=60)
    relevance = Relevance.from_labels([0, 1], labels)
    chance = measure_chance(60, relevance)
    orders = np.array([rng.permutation(60) for _ in range(4000)])
    precision = np.mean([(labels[orders[:, :10]] == label).mean() for label in (0, 1)])
    assert chance.precision_10 == pytest.approx(precision, abs=0.01)
    assert chance.recall_10 == pytest.approx(1 / 6)
    assert chance.recall_10_from_100 == 1
    one = np.ones((len(orders), 60), np.int64)
    mean = [
        average_precision(
            DistanceHistograms(one, (labels[orders] == label).astype(np.int64))
        ).mean()
        for label in (0, 1)
    ]
    assert chance.map == pytest.approx(np.mean(mean), abs=0.005)
    assert measure_chance(60).map is None
