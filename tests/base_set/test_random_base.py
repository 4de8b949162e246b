"""Random base sets: every row is equally likely."""

from __future__ import annotations

import numpy as np

from bitfold.base_set import RandomBase


def test_rows_are_equally_likely() -> None:
    X = np.arange(10.0)[:, None]
    drawn = np.concatenate([RandomBase(3).choose(X, rng=seed).points[:, 0] for seed in range(1000)])
    counts = np.bincount(drawn.astype(int), minlength=10)
    assert (np.abs(counts - 300) < 5 * np.sqrt(300 * 0.7)).all()
