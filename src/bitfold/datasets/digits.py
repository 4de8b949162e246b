"""The 8 × 8 digits that are included in scikit-learn."""

from __future__ import annotations

from bitfold._types import AnyArray, Float64Array
from bitfold.datasets.dataset import Dataset, split_dataset


def digits(n_queries: int = 300, seed: int = 0) -> Dataset:
    """Load 1,797 handwritten digits of 8 × 8 pixels.

    Parameters
    ----------
    n_queries
        Number of queries, chosen at random.
    seed
        Seed of the split.

    Returns
    -------
    The data set, with labels.

    Raises
    ------
    ParameterError
        If there are not fewer queries than images.

    Examples
    --------
    >>> digits()
    Dataset(digits: 1497 x 64, 300 queries)
    """
    images, labels = load_digit_images()
    return split_dataset(images.reshape(len(images), -1), labels, n_queries, seed, "digits")


def load_digit_images() -> tuple[Float64Array, AnyArray]:
    """Return all images (1797, 8, 8), with values from 0 to 16, and their labels."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images, bunch.target
