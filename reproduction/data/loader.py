"""The data sets of the experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from bitfold import datasets
from bitfold.datasets import Dataset
from bitfold.io.download import find_file
from reproduction.data.cifar10 import load_cifar10
from reproduction.data.gist_cifar import load_few_images, load_gist_cifar
from reproduction.data.sift_photos import load_sift_photos
from reproduction.data.text_set import FOLDER, VECTORS_FILE, load_text
from reproduction.records import Case
from reproduction.shared_types import ProgressCallback

OTHER_QUERIES = ", other queries"
"""Ending of the names of data sets with another random choice of queries."""

LOADERS: dict[str, Callable[..., Dataset]] = {
    "digits": datasets.digits,
    "mnist": datasets.mnist,
    "cifar10": load_cifar10,
    "text": load_text,
    f"mnist{OTHER_QUERIES}": partial(datasets.mnist, seed=1),
    f"cifar10{OTHER_QUERIES}": partial(load_cifar10, seed=1),
    "sift_photos": load_sift_photos,
    "sift1m": datasets.sift1m,
    "gist_cifar": load_gist_cifar,
    "gist1m": datasets.gist1m,
    **{f"manifold-{d}": partial(datasets.manifold, n_features=d) for d in (10, 16, 32, 64)},
}

UNLABELED = ("sift_photos", "sift1m", "gist_cifar", "gist1m")
"""Data sets whose relevant items are the nearest rows."""

_WITH_PROGRESS = ("mnist", "cifar10", "sift1m", "gist_cifar", "gist1m")
"""Data sets whose loaders take a progress callback."""

_FILES = {
    "text": ([FOLDER], [VECTORS_FILE]),
    "sift_photos": (["sift"], ["base.npy.xz"]),
    "sift1m": (["sift", "sift1m", ""], ["sift_base.fvecs", "sift.tar.gz"]),
    "gist1m": (["gist", "gist1m", ""], ["gist_base.fvecs", "gist.tar.gz"]),
}
"""Folders and files that show that a large data set, or one without a download, is available."""


def is_available(name: str) -> bool:
    """Return whether a data set is here or small enough to be downloaded."""
    return name not in _FILES or find_file(*_FILES[name]) is not None


class DataLoader:
    """Loads the data set of a case, and keeps the last one."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._data: Dataset | None = None

    def __call__(self, case: Case, progress: ProgressCallback | None = None) -> Dataset:
        """Return the data set of a case, or the part of it that the case needs."""
        key = (case.data, case.n_queries, case.n_rows)
        if self._data is None or key != self._key:
            self._data = None  # two at once might not fit into memory
            self._data, self._key = _load(case, progress), key
        return self._data


def _load(case: Case, progress: ProgressCallback | None) -> Dataset:
    if case.data == "gist_cifar" and case.n_rows:
        return load_few_images(case.n_rows, case.n_queries)
    name = case.data.removesuffix(OTHER_QUERIES)
    options = {"progress": progress} if name in _WITH_PROGRESS else {}
    data = LOADERS[case.data](n_queries=case.n_queries, **options)
    if case.data in UNLABELED:
        data = replace(data, labels=None, query_labels=None)
    return _take_rows(data, case.n_rows) if case.n_rows else data


def _take_rows(data: Dataset, n_rows: int) -> Dataset:
    """Return the first rows of the database, which are in random order."""
    labels = None if data.labels is None else data.labels[:n_rows]
    return Dataset(data.database[:n_rows], data.queries, labels, data.query_labels, data.name)
