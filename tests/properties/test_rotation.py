"""ITQ finds an orthogonal matrix for any data, and its steps never increase the loss."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from bitfold.rotation import itq

# Few distinct values: zeros, ties and rank deficiency are the rule, not the exception.
matrices = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 30), st.integers(1, 8)),
    elements=st.integers(-4, 4).map(lambda value: value / 4),
)


@given(matrices, st.integers(0, 2**32), st.floats(-18, 18))
def test_orthogonal_and_never_worse(V: NDArray[np.float32], seed: int, log_scale: float) -> None:
    scaled = V * np.float32(10.0**log_scale)
    learned = itq(scaled, np.random.default_rng(seed), 15)
    np.testing.assert_allclose(learned.matrix.T @ learned.matrix, np.eye(V.shape[1]), atol=2e-6)
    assert (np.diff(learned.losses) <= 1e-5).all()
