"""Larger base sets on real data, as bounds on means over three seeds: `make paper`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from reproduction.data.sift_photos import load_sift_photos
from tests.paper.conftest import LoadData

import bitfold as bf
from bitfold import metrics, neighbors
from bitfold.embedding import TSNE
from bitfold.errors import MissingDataError
from bitfold.evaluation import evaluate, measure_codes

pytestmark = pytest.mark.paper

SEEDS = range(3)


class Bounds(NamedTuple):
    data: str
    n_base_points: int | str
    min_map: float
    min_f1: float = 0.0


BOUNDS = [
    Bounds("mnist", "auto", 90.5, 0.78),
    Bounds("mnist", 10_000, 92.0),
    Bounds("cifar10", "auto", 21.8),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=lambda b: f"{b.data}, m={b.n_base_points}")
def test_quality(bounds: Bounds, load_data: LoadData) -> None:
    data, values = load_data(bounds.data), []
    for seed in SEEDS:
        hasher = bf.IMH(64, base=bf.KMeansBase(bounds.n_base_points), random_state=seed)
        quality = evaluate(hasher, data).quality
        values.append((100 * quality.map, quality.f1))
        print(f"\n{bounds.data}: {hasher.base_size_reason_} {values[-1]}")
    mean_map, mean_f1 = np.mean(values, axis=0)
    print(f"\n{bounds.data}, m={bounds.n_base_points}: MAP {mean_map:.2f}, F1 {mean_f1:.3f}")
    assert mean_map >= bounds.min_map
    assert mean_f1 >= bounds.min_f1


def test_inverted_lists_lose_no_quality(
    load_data: LoadData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = load_data("mnist")
    hasher = bf.IMH(64, base=bf.KMeansBase(10_000), random_state=0).fit(data.train)
    hasher.save(tmp_path / "model.bitfold")
    rows = np.ascontiguousarray(data.database[:5000] - hasher.center_, np.float32)

    def measure(hasher: Any) -> tuple[Any, float]:
        codes, queries = hasher.encode(data.database), hasher.encode(data.queries)
        quality = measure_codes(queries, codes, data.relevance)
        return hasher.nearest_base_points.find(rows).indices, 100 * quality.map

    listed, listed_map = measure(hasher)
    monkeypatch.setattr(neighbors, "MAX_EXHAUSTIVE_POINTS", len(hasher.base_set_))
    exact, exact_map = measure(bf.load(tmp_path / "model.bitfold"))
    share = (listed[:, :, None] == exact[:, None]).any(axis=1).mean()
    maps = f"MAP {listed_map:.2f}, exact {exact_map:.2f}"
    print(f"\nnearest base points: {100 * share:.2f} % equal; {maps}")
    assert share >= 0.995
    assert listed_map >= exact_map - 0.2


def test_defaults_find_neighbors_on_sift() -> None:
    """The defaults are not worse than the paper's graph on a tenth of a million rows."""
    try:
        data = load_sift_photos(n_queries=1000)
    except MissingDataError as error:
        pytest.skip(f"needs real data: {error}")
    X, Q = data.database[::10], data.queries
    truth = metrics.closest_neighbors(X, Q, k=10)

    def measure_recall(**settings: Any) -> float:
        recalls = []
        for seed in SEEDS:
            hasher = bf.IMH(64, random_state=seed, **settings).fit(X)
            index = bf.HammingIndex(n_bits=64)
            index.add(hasher.encode(X))
            ids = index.search(hasher.encode(Q), k=1000).ids
            recalls.append(np.mean([np.isin(t, i).mean() for t, i in zip(truth, ids, strict=True)]))
        return 100 * float(np.mean(recalls))

    default = measure_recall()
    paper, larger = (
        measure_recall(base=bf.KMeansBase(m), embedding=TSNE(perplexity=5)) for m in (1000, "auto")
    )
    exaggerated = measure_recall(embedding=TSNE(exaggeration=1.1))
    print(
        f"\nSIFT, ten nearest among the first 1,000: defaults {default:.1f} %, the paper's graph "
        f"{larger:.1f} %, with m = 1,000 {paper:.1f} %; late exaggeration {exaggerated:.1f} %"
    )
    assert default > paper
    assert default > larger - 0.5
    assert default > exaggerated
