"""How well GIST separates the classes of CIFAR-10, and how long 60,000 images take."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from reproduction.data.cifar10 import load_cifar10, load_images

from bitfold import datasets, metrics
from bitfold.errors import MissingDataError


@pytest.mark.paper
@pytest.mark.parametrize("features", ["gist512", "gist960"])
def test_cifar10(
    features: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path))
    try:
        load_images()
    except MissingDataError as error:
        pytest.skip(f"needs real data: {error}")
    start = time.perf_counter()
    data = load_cifar10(features=features)
    seconds = time.perf_counter() - start
    nearest = data.labels[metrics.closest_neighbors(data.database, data.queries, k=10)]
    votes = [np.bincount(row, minlength=10).argmax() for row in nearest]
    accuracy = float(np.mean(votes == data.query_labels))
    mean_precision = l2_map(data)
    with capsys.disabled():
        figures = f"10-NN accuracy {accuracy:.3f}, ℓ2 MAP {mean_precision:.4f}"
        print(f"\n{data.name}: {figures}, {seconds:.0f} s")
    assert 0.56 < accuracy < 0.64
    assert 0.16 < mean_precision < 0.18


def l2_map(data: datasets.Dataset) -> float:
    """Return the MAP of ranking by exact distance."""
    precisions = []
    for queries, labels in zip(
        np.array_split(data.queries, 10), np.array_split(data.query_labels, 10), strict=True
    ):
        lengths = (data.database**2).sum(axis=1)
        distances = lengths - 2 * queries @ data.database.T
        histograms = metrics.scan_histograms(distances, labels[:, None] == data.labels)
        precisions.append(metrics.average_precision(histograms))
    return float(np.mean(precisions))
