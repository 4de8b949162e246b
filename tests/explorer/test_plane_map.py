"""The map places vectors as their hasher sees them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bitfold.base_set import RandomBase
from bitfold.explorer.plane_map import MapPlacement
from bitfold.hashers import IMH

X = load_digits().data[:200]


@pytest.mark.parametrize("normalize", [False, True])
def test_lengths_matter_unless_the_hasher_scales_rows(normalize: bool) -> None:
    hasher = IMH(8, base=RandomBase(20), embedding="pca", normalize=normalize, random_state=0).fit(
        X
    )
    positions = np.random.default_rng(0).standard_normal((20, 2)).astype(np.float32)
    placement = MapPlacement(hasher.nearest_base_points, positions, hasher.bandwidth_, hasher)
    codes = hasher.encode(X)
    near, far = placement.place(X, codes), placement.place(4 * X, codes)
    assert near is not None
    assert far is not None
    assert near.shape == (200, 2)
    assert np.array_equal(near, far) == normalize
    assert placement.place(None, codes) is None
