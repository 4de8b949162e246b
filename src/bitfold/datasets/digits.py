"""The 8 × 8 digits that come with scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_digits

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
    X, y = load_digits(return_X_y=True)
    return split(X, y, n_queries, seed)
