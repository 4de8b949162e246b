"""Labeled rows, and samples of them."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.errors import DataError
from bitfold.hashers._labels import find_labeled_rows

Y = np.array(["b", "", "a", "b", "-1", "b", "b", "a"])


def test_unlabeled_rows_are_left_out() -> None:
    found = find_labeled_rows(Y, len(Y), "KSH")
    assert found.rows.tolist() == [0, 2, 3, 5, 6, 7]
    assert found.classes.tolist() == [1, 0, 1, 1, 1, 0]
    assert found.n_classes == 2
    with pytest.raises(DataError, match=r"KSH .* 2 classes, got 1"):
        find_labeled_rows(np.where(Y == "a", "", Y), len(Y), "KSH")


def test_sample_keeps_the_mix_of_classes() -> None:
    y = np.repeat([0, 1, 2], [600, 300, 3])
    labeled = find_labeled_rows(y, len(y), "KSH")
    chosen = labeled.sample(90, np.random.default_rng(0))
    assert np.abs(np.bincount(chosen.classes) - [60, 30, 0.3]).max() <= 1
    assert (np.diff(chosen.rows) > 0).all()
    assert np.array_equal(y[chosen.rows], chosen.classes)
    # A sample of fewer rows than classes still has a row of each.
    assert np.bincount(labeled.sample(1, np.random.default_rng(0)).classes).tolist() == [1, 1, 1]
    assert labeled.sample(len(y), np.random.default_rng(0)) is labeled
