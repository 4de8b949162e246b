"""The data sets of the experiments, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bitfold import datasets
from bitfold.datasets import Dataset
from bitfold.features import color_gist
from bitfold.io import read_labels, read_vectors
from bitfold.io.download import find_file
from reproduction.cifar10_jpeg import (
    load_cifar10_jpeg,
    load_cifar10_patches,
    split_jpeg_images,
)
from reproduction.records import Case
from reproduction.sift_photos import sift_photos

Report = Callable[[str, int, int], None]
"""Told (stage, done, total)."""

Read = Callable[[Path], Any]
"""Reads an array from a file."""

DATA: dict[str, Callable[..., Dataset]] = {
    "digits": datasets.digits,
    "mnist": datasets.mnist,
    "cifar10": load_cifar10_jpeg,
    "sift_photos": sift_photos,
    "sift1m": datasets.sift1m,
    "gist_cifar": load_cifar10_patches,
    "gist1m": datasets.gist1m,
    **{f"manifold-{d}": partial(datasets.manifold, n_features=d) for d in (10, 16, 32, 64)},
}

UNLABELED = ("sift_photos", "sift1m", "gist_cifar", "gist1m")
"""Those whose right answers are the nearest rows."""

_TELLING = ("mnist", "cifar10", "sift1m", "gist_cifar", "gist1m")
"""Those that tell how far they are: downloaded, unpacked or described."""

_FILES = {
    "sift_photos": (["sift"], ["base.npy.xz"]),
    "sift1m": (["sift", "sift1m", ""], ["sift_base.fvecs", "sift.tar.gz"]),
    "gist1m": (["gist", "gist1m", ""], ["gist_base.fvecs", "gist.tar.gz"]),
}
"""Folders and files by which those are known that not everybody has."""


def at_hand(name: str) -> bool:
    """Whether a data set is there, as far as it is one that not everybody has."""
    return name not in _FILES or find_file(*_FILES[name]) is not None


class Loader:
    """Loads the data set of a case, or the part of it that the case speaks of; keeps the last.

    What is no name of a data set is a file, for ``vectors`` and ``labels`` to read.
    """

    def __init__(self, vectors: Read = read_vectors, labels: Read = read_labels) -> None:
        self._read = (vectors, labels)
        self._key: tuple[object, ...] = ()
        self._data: Dataset | None = None

    def __call__(self, case: Case, report: Report | None = None) -> Dataset:
        """Load, unless the case before had the same data."""
        key = (case.data, case.labels, case.queries, case.rows)
        if self._data is None or key != self._key:
            # Two at once might not fit.
            self._data = None
            named = case.data in DATA
            self._data = _named(case, report) if named else _of_files(case, *self._read)
            self._key = key
        return self._data


def _named(case: Case, report: Report | None) -> Dataset:
    if case.data == "gist_cifar" and case.rows:
        return _few_gist(case.rows, case.queries)
    telling = {"progress": report} if case.data in _TELLING else {}
    data = DATA[case.data](n_queries=case.queries, **telling)
    if case.data in UNLABELED:
        # The nearest rows are the right answers, also where labels are known.
        data = replace(data, labels=None, query_labels=None)
    return _part(data, case.rows) if case.rows else data


def _part(data: Dataset, rows: int) -> Dataset:
    """Keep the first rows of the database, which are in random order."""
    labels = None if data.labels is None else data.labels[:rows]
    return Dataset(data.database[:rows], data.queries, labels, data.query_labels, data.name)


def _few_gist(rows: int, queries: int) -> Dataset:
    """Describe so few pictures of CIFAR-10 that it takes seconds; all the patches take minutes."""
    shown = split_jpeg_images(queries)
    database, asked = color_gist(shown.database[:rows]), color_gist(shown.queries)
    return Dataset(database, asked, name="GIST-960-CIFAR")


def _of_files(case: Case, read_vectors: Read, read_labels: Read) -> Dataset:
    """Set random rows of a file aside as queries, and take so many others, in the file's order."""
    X = read_vectors(Path(case.data))
    if not case.queries < len(X):
        demand = f"queries must be fewer than the {len(X)} rows of {case.data}"
        raise ValueError(f"{demand}, got {case.queries}.")
    order = np.random.default_rng(0).permutation(len(X))
    last = case.queries + case.rows if case.rows else len(X)
    asked, kept = np.sort(order[: case.queries]), np.sort(order[case.queries : last])
    name = Path(case.data).name
    if not case.labels:
        return Dataset(X[kept], X[asked], name=name)
    y = read_labels(Path(case.labels))
    if len(y) != len(X):
        raise ValueError(f"labels must be one for each of {len(X)} rows, got shape {y.shape}.")
    return Dataset(X[kept], X[asked], y[kept], y[asked], name)
