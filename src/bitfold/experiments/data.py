"""The data sets of the experiments, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from bitfold import datasets
from bitfold.datasets import Dataset
from bitfold.experiments.records import Case

DATA: dict[str, Callable[..., Dataset]] = {
    "digits": datasets.digits,
    "mnist": datasets.mnist,
    "cifar10": datasets.cifar10,
    "sift_photos": datasets.sift_photos,
    "sift1m": datasets.sift1m,
    "gist_cifar": datasets.cifar10_patches,
    "gist1m": datasets.gist1m,
    **{f"manifold-{d}": partial(datasets.manifold, n_features=d) for d in (10, 16, 32, 64)},
}


UNLABELLED = ("sift_photos", "sift1m", "gist_cifar", "gist1m")
"""Those whose right answers are the nearest rows."""


def load(case: Case) -> Dataset:
    """Load the data set of a case, or the part of it that the case speaks of."""
    data = _whole(case.data, case.labels, case.queries)
    return data if not case.rows else _part(data, case.rows)


@lru_cache(maxsize=1)
def _whole(name: str, labels: str, queries: int) -> Dataset:
    """Load a data set or a file, with so many queries set aside; the last one is kept."""
    if name in DATA:
        return DATA[name](n_queries=queries)
    if not Path(name).exists():
        raise ValueError(f"the data set must be one of {', '.join(DATA)}, or a file, got {name!r}.")
    return _of_files(Path(name), Path(labels) if labels else None, queries)


def _of_files(path: Path, labels: Path | None, n_queries: int) -> Dataset:
    """Set random rows of a file aside as queries, in the order of the file."""
    X = datasets.read_vectors(path)
    if not n_queries < len(X):
        raise ValueError(
            f"queries must be fewer than the {len(X)} rows of {path}, got {n_queries}."
        )
    chosen = np.zeros(len(X), bool)
    chosen[np.random.default_rng(0).permutation(len(X))[:n_queries]] = True
    if labels is None:
        return Dataset(X[~chosen], X[chosen], name=path.name)
    y = np.load(labels, allow_pickle=False)
    if y.shape != (len(X),):
        raise ValueError(f"labels must be one for each of {len(X)} rows, got shape {y.shape}.")
    return Dataset(X[~chosen], X[chosen], y[~chosen], y[chosen], path.name)


def _part(data: Dataset, rows: int) -> Dataset:
    """Keep the first rows of the database, which are in random order."""
    labels = None if data.labels is None else data.labels[:rows]
    return Dataset(data.database[:rows], data.queries, labels, data.query_labels, data.name)
