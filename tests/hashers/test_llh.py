"""Locally linear hashing: weights against a general solver, and its objective."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold import metrics
from bitfold._kernels.locally_linear import sparse_weights
from bitfold.base_set import KMeansBase
from bitfold.errors import ParameterError
from bitfold.hashers import LLH, SH
from bitfold.hashers.llh import (
    closest_frame,
    joint_embedding,
    reconstruction_error,
    squared_distances,
)

Array = NDArray[Any]
X, y = load_digits(return_X_y=True)
# With noise, so that no two distances are equal.
BASE = (X[:120] + np.random.default_rng(0).normal(0, 0.1, (120, 64))).astype(np.float32)
APART = squared_distances(BASE)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on busy cores, the threads of a small problem wait for each other."""
    with threadpool_limits(1):
        yield


def weights_of(row: Array, near: Array, base: Array, penalty: float) -> Array:
    """Return the weights of one row over some base points."""
    distances = np.square(base[near] - row).sum(axis=1, dtype=np.float64)[None]
    out = np.empty((1, len(near)), np.float32)
    apart = squared_distances(np.ascontiguousarray(base, np.float32))
    sparse_weights(near[None].astype(np.int32), distances, apart, penalty, out)
    w: Array = out[0].astype(np.float64)
    return w


def objective(row: Array, points: Array, penalty: float, w: Array) -> float:
    """|x - Σ w_j x_j|²/2 + λ |s ⊙ w|, relative to the mean squared distance."""
    distances = np.linalg.norm(points - row, axis=1)
    error = np.square(row - w @ points).sum() / np.square(distances).mean()
    return float(error / 2 + penalty * np.abs(distances / distances.sum() * w).sum())


def by_general_solver(row: Array, points: Array, penalty: float) -> Array:
    """Minimize over the positive and the negative parts of the weights."""
    k = len(points)

    def cost(parts: Array) -> float:
        smooth = objective(row, points, 0, parts[:k] - parts[k:])
        distances = np.linalg.norm(points - row, axis=1)
        return smooth + float(penalty * distances @ (parts[:k] + parts[k:]) / distances.sum())

    sums = {"type": "eq", "fun": lambda parts: parts[:k].sum() - parts[k:].sum() - 1}
    start = np.concatenate([np.full(k, 1 / k), np.zeros(k)])
    found = minimize(
        cost, start, bounds=[(0, None)] * 2 * k, constraints=sums, tol=1e-10,
        options={"maxiter": 500},
    )  # fmt: skip
    w: Array = found.x[:k] - found.x[k:]
    return w


@pytest.mark.parametrize("penalty", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("query", [300, 500, 700])
def test_weights_are_optimal(query: int, penalty: float) -> None:
    row = X[query]
    near = np.argsort(np.square(BASE - row).sum(axis=1))[:7]
    ours = weights_of(row, near, BASE, penalty)
    theirs = by_general_solver(row, BASE[near].astype(np.float64), penalty)
    assert abs(ours.sum() - 1) < 1e-5
    np.testing.assert_allclose(ours, theirs, atol=5e-3)
    points = BASE[near].astype(np.float64)
    best = objective(row, points, penalty, theirs)
    assert objective(row, points, penalty, ours) < best + 1e-5


def test_weights_may_be_negative_or_zero() -> None:
    line = np.array([[1.0, 0], [2, 0], [3, 0.1]], np.float32)
    row = np.zeros(2)
    ours = weights_of(row, np.arange(3), line, 0.01)
    theirs = by_general_solver(row, line.astype(np.float64), 0.01)
    assert ours[1] == 0
    assert ours[2] < -0.4
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_a_higher_penalty_leaves_fewer_and_nearer_neighbors() -> None:
    near = np.argsort(np.square(BASE - X[300]).sum(axis=1))[:10]
    counts = [
        np.sum(weights_of(X[300], near, BASE, penalty) != 0) for penalty in (0.01, 1, 10, 1000)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 1
    assert weights_of(X[300], near, BASE, 1000)[0] == 1


def test_a_base_point_is_reconstructed_from_itself() -> None:
    near = np.argsort(np.square(BASE - BASE[9]).sum(axis=1))[:5]
    np.testing.assert_array_equal(weights_of(BASE[9], near, BASE, 0.1), [1, 0, 0, 0, 0])
    equal = np.ones((3, 2), np.float32)
    ours = weights_of(np.ones(2), np.arange(3), equal, 0.1)
    assert abs(ours.sum() - 1) < 1e-6


def test_the_error_matrix_reconstructs_points_from_others() -> None:
    M = reconstruction_error(BASE, APART, 6, 0.1)
    W = np.zeros((120, 120))
    for i, row in enumerate(BASE):
        near = np.argsort(APART[i], kind="stable")
        near = near[near != i][:6]
        W[i, near] = weights_of(row, near, BASE, 0.1)
    residual = np.eye(120) - W
    np.testing.assert_allclose(M, residual.T @ residual, atol=1e-3)
    np.testing.assert_allclose(M @ np.ones(120), 0, atol=1e-5)


@pytest.mark.parametrize("eta", [0.01, 0.1, 3.0])
def test_the_objective_falls(eta: float) -> None:
    M = reconstruction_error(BASE, APART, 6, 0.1)
    Z, losses = joint_embedding(M, 8, eta, 40, np.random.default_rng(0))
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(Z.T @ Z / 120, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)


def test_without_iterations_it_is_the_rotated_lle() -> None:
    M = reconstruction_error(BASE, APART, 6, 0.1)
    Z, losses = joint_embedding(M, 8, 0.1, 0, np.random.default_rng(0))
    least = np.linalg.eigvalsh(M)[1:9].sum()
    np.testing.assert_allclose(np.trace(Z.T @ M @ Z) / 120, least, rtol=1e-4)
    assert losses == []


def test_a_larger_eta_is_closer_to_signs() -> None:
    M = reconstruction_error(BASE, APART, 6, 0.1)

    def gap(eta: float) -> float:
        Z = joint_embedding(M, 8, eta, 40, np.random.default_rng(0)).embedding
        return float(np.square(np.sign(Z) - Z).mean())

    assert gap(3.0) < gap(0.1) < gap(0.001)


def test_a_frame_is_closest_to_its_target() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=(50, 4))
    ours = closest_frame(target)
    for _ in range(200):
        nearby = closest_frame(ours + 0.1 * rng.normal(size=(50, 4)))
        assert np.square(ours - target).sum() <= np.square(nearby - target).sum()


def test_reals_combine_the_base_embedding() -> None:
    ours = LLH(8, base=KMeansBase(60, max_iter=3), n_neighbors=5, random_state=0).fit(X)
    reals = ours.embed(X[:20])
    base = ours.base_points_
    for row, real in zip(X[:20], reals, strict=True):
        near = np.argsort(np.square(base - row).sum(axis=1))[:5]
        w = weights_of(row - ours.center_, near, ours.base_set_, 0.1)
        np.testing.assert_allclose(real, w @ ours.bit_embedding_[near], atol=1e-3)
    np.testing.assert_array_equal(ours.embed(base), ours.bit_embedding_)


def test_map_exceeds_that_of_spectral_hashing() -> None:
    ours = LLH(16, base=KMeansBase(150, max_iter=5), random_state=0).fit(X)
    spectral = metrics.map_scorer(SH(16).fit(X), X, y)
    assert metrics.map_scorer(ours, X, y) > spectral + 0.15


def test_n_bits_is_limited_by_the_base_points() -> None:
    base = KMeansBase(20, max_iter=2)
    assert LLH(base=base, random_state=0).fit(X).n_bits_ == 19
    with pytest.raises(ParameterError, match="n_bits of LLH must be at most base points - 1 = 19"):
        LLH(20, base=base, random_state=0).fit(X)
