"""The digits of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold import datasets
from bitfold.errors import ParameterError


def test_all_digits_are_in_the_split() -> None:
    data = datasets.digits(n_queries=100, seed=3)
    assert data.database.shape == (1697, 64)
    assert data.queries.shape == (100, 64)
    assert len(np.unique(data.labels)) == 10
    assert np.array_equal(data.queries, datasets.digits(n_queries=100, seed=3).queries)
    both = np.concatenate([data.database, data.queries])
    assert len(np.unique(both, axis=0)) == 1797


def test_too_many_queries_are_rejected() -> None:
    with pytest.raises(ParameterError, match=r"n_queries of digits .* 1796"):
        datasets.digits(1797)
