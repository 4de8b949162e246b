"""Ties: the expected share of labels over all orders, and how often all of the first ten tie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import index_bits, items_of

from bitfold.explorer.models import RadiusCounts
from bitfold.explorer.opening import ItemSources
from bitfold.explorer.ties import TieSample, expect_alike


def test_expectation_is_the_mean_over_orders() -> None:
    rng = np.random.default_rng(0)
    distances, alike = rng.integers(0, 4, 30), rng.random(30) < 0.4
    within = np.array([np.count_nonzero(distances <= r) for r in range(5)])
    same = np.array([np.count_nonzero(alike[distances <= r]) for r in range(5)])
    orders = [np.argsort(distances + rng.random(30) / 2)[:10] for _ in range(4000)]
    mean = np.mean([alike[order].mean() for order in orders])
    assert expect_alike(RadiusCounts(within, same)) == pytest.approx(mean, abs=0.01)


def test_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    """Items of one bucket, sorted by class: the first ids would all be of one class."""
    bits = np.zeros((400, 8), np.uint8)
    bits[200:, 0] = 1
    np.save(tmp_path / "y.npy", np.repeat([0, 1], 200))
    opened = index_bits(tmp_path, np.zeros_like(bits))
    sample = TieSample(opened.model, items_of(opened, ItemSources(label=str(tmp_path / "y.npy"))))
    assert sample.tied == 1 and sample.same_label == pytest.approx(0.5, abs=0.01)
    assert sample.chance == 0.5
    opened = index_bits(tmp_path, bits)
    sample = TieSample(opened.model, items_of(opened, ItemSources(label=str(tmp_path / "y.npy"))))
    assert sample.tied == 1 and sample.same_label == 1
