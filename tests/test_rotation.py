"""The ITQ rotation."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from bitfold.rotation import itq, unit_rows

FloatArray = NDArray[np.float32]


def cloud(n: int = 300, d: int = 8, seed: int = 0) -> FloatArray:
    """Return correlated columns of uneven spread, so that a rotation can improve the signs."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((n, d)) * np.geomspace(1, 0.1, d) @ rng.standard_normal((d, d))
    return np.asarray(V - V.mean(axis=0), np.float32)


def loss(V: FloatArray, R: FloatArray) -> float:
    unit = V / np.sqrt(np.mean(V.astype(np.float64) ** 2))
    Z = unit @ R
    return float(np.mean((np.where(Z > 0, 1, -1) - Z) ** 2))


def test_unit_rows_have_length_one_or_zero() -> None:
    unit = unit_rows(np.concatenate([cloud(50), np.zeros((1, 8), np.float32)]))
    np.testing.assert_allclose(np.linalg.norm(unit[:50], axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(unit[50], 0)


@pytest.mark.parametrize("d", [1, 2, 8, 64, 128])
def test_the_rotation_is_orthogonal(d: int) -> None:
    R = itq(cloud(d=d), np.random.default_rng(0), 5).matrix
    assert R.dtype == np.float32
    np.testing.assert_allclose(R.T @ R, np.eye(d), atol=2e-6)


def test_losses_never_rise() -> None:
    V = cloud()
    learned = itq(V, np.random.default_rng(0))
    assert len(learned.losses) == 50
    assert (np.diff(learned.losses) <= 1e-6).all()
    for max_iter in (1, 2, 10):
        before = itq(V, np.random.default_rng(0), max_iter)
        assert before.losses == learned.losses[:max_iter]
        assert loss(V, before.matrix) == pytest.approx(learned.losses[max_iter], rel=1e-5)
    assert loss(V, learned.matrix) < learned.losses[0] - 0.01


def test_one_iteration_is_the_procrustes_solution() -> None:
    V = cloud()
    start = np.linalg.qr(np.random.default_rng(4).standard_normal((8, 8)))[0]
    signs = np.where(V @ start > 0, 1, -1)
    expected, _ = orthogonal_procrustes(V, signs)
    np.testing.assert_allclose(itq(V, np.random.default_rng(4), 1).matrix, expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_a_rotated_square_is_rotated_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.choice([-1.0, 1.0], (100, 2))
    turned = (corners @ np.linalg.qr(rng.standard_normal((2, 2)))[0]).astype(np.float32)
    learned = itq(turned, rng)
    assert learned.losses[-1] < 1e-5
    np.testing.assert_allclose(np.abs(turned @ learned.matrix), 1, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_changes_nothing(scale: float) -> None:
    V = cloud()
    expected = itq(V, np.random.default_rng(0))
    got = itq((V * scale).astype(np.float32), np.random.default_rng(0))
    np.testing.assert_allclose(got.matrix, expected.matrix, atol=1e-3)
    np.testing.assert_allclose(got.losses, expected.losses, rtol=1e-3)


@pytest.mark.parametrize(
    "V",
    [np.zeros((5, 3)), np.ones((1, 3)), np.eye(3)[:2], np.array([[1.0, 0, 0], [-1.0, 0, 0]])],
    ids=["nothing", "one row", "fewer rows than columns", "one direction"],
)
def test_degenerate_data_give_a_rotation(V: NDArray[np.float64]) -> None:
    learned = itq(V.astype(np.float32), np.random.default_rng(0))
    np.testing.assert_allclose(learned.matrix.T @ learned.matrix, np.eye(3), atol=2e-6)
    assert np.isfinite(learned.losses).all()


def test_the_seed_determines_the_rotation() -> None:
    V = cloud()
    kept = V.copy()
    first, again, other = (itq(V, np.random.default_rng(seed)).matrix for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(V, kept)


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
