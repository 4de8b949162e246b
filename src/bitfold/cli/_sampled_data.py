"""Data on which methods are measured: a named data set or a file, of which a sample is taken."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from bitfold import _class_labels, datasets
from bitfold._types import AnyArray, Float32Array, ProgressCallback
from bitfold.cli import _inputs
from bitfold.cli._inputs import VECTOR_FORMATS
from bitfold.datasets import Dataset, draw_queries
from bitfold.errors import DataError
from bitfold.evaluation import ExactResult, search_exact
from bitfold.io import Rows

DATASETS: dict[str, Callable[..., Dataset]] = {
    "digits": datasets.digits,
    "mnist": datasets.mnist,
    "cifar10": datasets.cifar10,
    **{f"manifold-{d}": partial(datasets.manifold, n_features=d) for d in (10, 16, 32, 64)},
    "sift1m": datasets.sift1m,
    "gist1m": datasets.gist1m,
}

UNLABELED_DATASETS = ("sift1m", "gist1m")
"""Data sets without labels."""

MAX_QUERIES = 1000
"""Default number of queries, unless a tenth of the rows of a file is less."""

DEFAULT_ROWS = 10_000
"""Default number of rows to search in: a first answer within minutes."""

DATA_HELP = f"Data set (digits, mnist, cifar10, manifold-10, …) or file: {VECTOR_FORMATS}."


class SampledData(NamedTuple):
    """A data set of which a sample was taken, and what its exact vectors find."""

    dataset: Dataset
    n_available: int
    exact: ExactResult


class DataRequest(NamedTuple):
    """The data that methods are measured on; if ``max_rows`` is 0, all rows."""

    data: str
    labels: Path | None
    n_queries: int
    max_rows: int
    is_labeled: bool
    fingerprint: str
    cosine: bool = False

    @classmethod
    def create(
        cls, data: str, labels: Path | None, n_queries: int | None, max_rows: int, cosine: bool
    ) -> DataRequest:
        """Check the data set or the files, and choose the number of queries."""
        if data in DATASETS:
            if labels is not None:
                raise typer.BadParameter(f"--labels cannot be used with the data set {data}.")
            is_labeled = data not in UNLABELED_DATASETS
            return cls(data, None, n_queries or MAX_QUERIES, max_rows, is_labeled, "", cosine)
        path = Path(data)
        if data == "-" or not _inputs.InputRef.parse(path).path.exists():
            known = ", ".join(DATASETS)
            raise typer.BadParameter(f"{data!r} is neither a file nor a data set ({known}).")
        _inputs.check_exists(labels)
        n_queries = n_queries or min(MAX_QUERIES, max(1, _inputs.open_vectors(path).shape[0] // 10))
        stamps = " ".join(_inputs.fingerprint(file) for file in (path, labels) if file is not None)
        return cls(data, labels, n_queries, max_rows, labels is not None, stamps, cosine)

    @property
    def is_file(self) -> bool:
        """Whether the data are a file rather than a named data set."""
        return self.data not in DATASETS

    @property
    def relevant(self) -> str:
        """What is relevant to a query, in words."""
        closest = f"the closest 2 percent{' by cosine' if self.cosine else ''}"
        return "items with the same label" if self.is_labeled else closest

    def load(self, progress: ProgressCallback) -> SampledData:
        """Load the data, take the sample, and search it exactly."""
        whole = self._read_files() if self.is_file else self._load_named(progress)
        rows = self._choose_rows(len(whole.database))
        labels = None if whole.labels is None else whole.labels[rows]
        dataset = Dataset(whole.database[rows], whole.queries, labels, whole.query_labels)
        if self.cosine:
            dataset = _scale_rows(dataset)
        relevance = dataset.relevance if self.is_labeled else None
        exact = search_exact(dataset.database, dataset.queries, relevance, progress=progress)
        return SampledData(dataset, len(whole.database), exact)

    def _choose_rows(self, n_available: int) -> slice | np.ndarray:
        """Return the rows of the sample, in ascending order."""
        if not 0 < self.max_rows < n_available:
            return slice(None)
        rng = np.random.default_rng(0)
        return np.sort(rng.choice(n_available, self.max_rows, replace=False))

    def _load_named(self, progress: ProgressCallback) -> Dataset:
        """Load a named data set."""
        loader = DATASETS[self.data]
        shows_progress = "progress" in inspect.signature(loader).parameters
        options = {"progress": progress} if shows_progress else {}
        return loader(n_queries=self.n_queries, **options)

    def _read_files(self) -> Dataset:
        """Hold out random rows of a file as queries; those without a label are left out."""
        X = _inputs.read_vectors(Path(self.data))
        rows, query_rows = draw_queries(len(X), self.n_queries, owner="the command")
        rows, query_rows = np.sort(rows), np.sort(query_rows)
        if self.labels is None:
            return Dataset(X[rows], X[query_rows])
        y = _inputs.read_labels(self.labels, len(X))
        query_rows = query_rows[_class_labels.is_labeled(y[query_rows])]
        if not len(query_rows):
            raise DataError("No query has a label: all of them are -1.")
        return Dataset(X[rows], X[query_rows], y[rows], y[query_rows])


def _scale_rows(dataset: Dataset) -> Dataset:
    """Scale all vectors to unit length, so that the closest rows are those by cosine."""
    database, queries = map(_to_unit_length, (dataset.database, dataset.queries))
    return Dataset(database, queries, dataset.labels, dataset.query_labels)


def _to_unit_length(vectors: AnyArray) -> Float32Array:
    center = np.zeros(vectors.shape[1], np.float32)
    return Rows(vectors, center, "the command", normalize=True).take(np.arange(len(vectors)))


def describe_sample(n_rows: int, n_available: int) -> str:
    """Return in words which rows were used."""
    if n_rows < n_available:
        return f"a sample of {n_rows:,} of {n_available:,} rows"
    return f"all {n_rows:,} rows"
