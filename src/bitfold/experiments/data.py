"""The data sets of the experiments, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

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


def load(case: Case) -> Dataset:
    """Load the data set of a case, or the part of it that the case speaks of."""
    data = _whole(case.data, case.queries)
    return data if not case.rows else _part(data, case.rows)


@lru_cache(maxsize=1)
def _whole(name: str, queries: int) -> Dataset:
    """Load a data set, with so many queries set aside; the last one is kept."""
    if name not in DATA:
        raise ValueError(f"the data set must be one of {', '.join(DATA)}, got {name!r}.")
    return DATA[name](n_queries=queries)


def _part(data: Dataset, rows: int) -> Dataset:
    """Keep the first rows of the database, which are in random order."""
    labels = None if data.labels is None else data.labels[:rows]
    return Dataset(data.database[:rows], data.queries, labels, data.query_labels, data.name)
