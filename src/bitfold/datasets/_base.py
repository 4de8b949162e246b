"""What a data set is, and where its files are looked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Dataset(NamedTuple):
    """Vectors to train on and search in, queries, and the labels of both."""

    database: NDArray[Any]
    queries: NDArray[Any]
    labels: NDArray[Any]
    query_labels: NDArray[Any]


class MissingData(FileNotFoundError):
    """Raised when a data set's files are not where they are looked for."""


def find(folder: str, names: list[str]) -> list[Path]:
    """Return the files of a data set below the folder that ``BITFOLD_DATA`` names."""
    root = os.environ.get("BITFOLD_DATA")
    if not root:
        raise MissingData(
            f"the data set {folder} needs its files: "
            f"set BITFOLD_DATA to a folder with {folder}/{names[0]} in it."
        )
    paths = [Path(root) / folder / name for name in names]
    for path in paths:
        if not path.is_file():
            raise MissingData(f"{path} does not exist, but the data set {folder} needs it.")
    return paths


def split(X: NDArray[Any], y: NDArray[Any], n_queries: int, seed: int) -> Dataset:
    """Draw the queries at random; the database is the rest, in the order drawn."""
    order = np.random.default_rng(seed).permutation(len(X))
    queries, database = order[:n_queries], order[n_queries:]
    return Dataset(X[database], X[queries], y[database], y[queries])
