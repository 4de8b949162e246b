"""The 8 × 8 digits that come with scikit-learn."""

from __future__ import annotations

from bitfold._types import AnyArray, Float64Array
from bitfold.datasets._base import Dataset, split


def digits(n_queries: int = 300, seed: int = 0) -> Dataset:
    """1,797 handwritten digits of 8 × 8 pixels, split into queries and database.

    Parameters
    ----------
    n_queries
        How many to set aside as queries.
    seed
        Seed of the split.
    """
    images, labels = album()
    return split(images.reshape(len(images), -1), labels, n_queries, seed, "digits")


def album() -> tuple[Float64Array, AnyArray]:
    """Return all pictures (1797, 8, 8), values from 0 to 16, and labels."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images, bunch.target
