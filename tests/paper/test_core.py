"""The paper's values on MNIST (Sec. 4-6), as bounds on means over five seeds: `make paper`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from tests.paper.conftest import LoadData

import bitfold as bf
from bitfold import datasets
from bitfold.embedding import TSNE
from bitfold.evaluation import evaluate
from bitfold.hashers import Hasher

SEEDS = range(5)


class Bounds(NamedTuple):
    hasher: Hasher
    min_map: float
    min_f1: float = 0.0


BOUNDS = {
    "IMH-tSNE m=400 sign": Bounds(bf.IMH(64, base=bf.KMeansBase(400), rotation=None), 77.0),
    "IMH-tSNE m=1000 sign": Bounds(bf.IMH(64, base=bf.KMeansBase(1000), rotation=None), 82.5),
    "IMH-tSNE+ITQ m=1000": Bounds(bf.IMH(64, base=bf.KMeansBase(1000)), 84.0),
    "IMH-tSNE+ITQ m=400": Bounds(bf.IMH(64, base=bf.KMeansBase(400)), 77.0, 0.66),
    "IMH-LE m=400 sign": Bounds(
        bf.IMH(64, base=bf.KMeansBase(400), embedding="le", rotation=None), 40.0
    ),
    "SupervisedIMH 9 bits": Bounds(bf.SupervisedIMH(9), 76.0, 0.72),
    # The same with the paper's own graph, by distance.
    "perplexity 5, m=400 sign": Bounds(
        bf.IMH(64, base=bf.KMeansBase(400), embedding=TSNE(5), rotation=None), 77.0
    ),
    "perplexity 5, m=1000 sign": Bounds(
        bf.IMH(64, base=bf.KMeansBase(1000), embedding=TSNE(5), rotation=None), 82.5
    ),
    "perplexity 5, m=1000, ITQ": Bounds(
        bf.IMH(64, base=bf.KMeansBase(1000), embedding=TSNE(5)), 83.0, 0.6
    ),
}


def measure(hasher: Hasher, data: datasets.Dataset, seed: int) -> tuple[float, float]:
    """Return MAP in percent and F1."""
    quality = evaluate(hasher.set_params(random_state=seed), data).quality
    return 100 * quality.map, quality.f1


@pytest.mark.paper
@pytest.mark.parametrize("name", BOUNDS)
def test_mnist(name: str, load_data: LoadData, capsys: pytest.CaptureFixture[str]) -> None:
    bounds, data = BOUNDS[name], load_data("mnist")
    values = np.array([measure(bounds.hasher, data, seed) for seed in SEEDS])
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    with capsys.disabled():
        line = f"MAP {mean[0]:.2f} ({deviation[0]:.2f})  F1 {mean[1]:.3f} ({deviation[1]:.3f})"
        print(f"\n{name:34} {line}")
    assert mean[0] >= bounds.min_map
    assert mean[1] >= bounds.min_f1


def test_small_mnist(load_data: LoadData) -> None:
    """A tenth of the database and half of the base points."""
    whole = load_data("mnist")
    data = datasets.Dataset(
        whole.database[:7000], whole.queries[:300], whole.labels[:7000], whole.query_labels[:300]
    )
    base = bf.KMeansBase(200)
    unsupervised = np.mean([measure(bf.IMH(64, base=base), data, s) for s in (0, 1)], axis=0)
    laplacian = measure(bf.IMH(64, base=base, embedding="le"), data, 0)
    supervised = measure(bf.SupervisedIMH(9, base=base), data, 0)
    assert unsupervised[0] > 62
    assert unsupervised[1] > 0.52
    assert 45 < laplacian[0] < unsupervised[0]
    assert supervised[0] > 54
    assert supervised[1] > 0.52
