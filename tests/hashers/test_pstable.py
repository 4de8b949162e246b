"""LSH by p-stable distributions: collision probabilities of buckets and of their parity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.datasets import load_digits

from bitfold.errors import ParameterError
from bitfold.hashers import PStableLSH

BITS = 20_000
"""With this number of bits, 3 standard deviations of a fraction of bits are 0.01."""

WIDTH = 3.0
DISTANCES = WIDTH * np.array([0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 5.0])


def fit(p: int, offsets: NDArray[Any]) -> tuple[PStableLSH, NDArray[np.float64]]:
    """Return a hasher with many bits, and the points x and x plus each offset."""
    x = np.array([0.3, -1.2, 4.0, 0.7])
    hasher = PStableLSH(BITS, p=p, width=WIDTH, random_state=0).fit(np.vstack([x, x + 1]))
    return hasher, np.vstack([x, x + offsets])


def offsets(p: int) -> NDArray[np.float64]:
    direction = np.array([1.0, -2.0, 0.5, 3.0])
    return np.outer(DISTANCES, direction / np.linalg.norm(direction, ord=p))


def bucket_numbers(hasher: PStableLSH, points: NDArray[Any]) -> NDArray[np.float64]:
    """Return ⌊(a·x + b) / w⌋, computed from the waves of the hasher."""
    turns = (points - hasher.center_) @ hasher.frequencies_.T.astype(np.float64)
    numbers: NDArray[np.float64] = np.floor((turns + hasher.phases_ - np.pi / 2) / np.pi)
    return numbers


def same_bucket(p: int, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the collision probability of Sec. 3.2, for ratio = width / distance."""
    if p == 1:
        return 2 * np.arctan(ratio) / np.pi - np.log(1 + ratio**2) / (np.pi * ratio)
    tail = 2 / (np.sqrt(2 * np.pi) * ratio) * (1 - np.exp(-(ratio**2) / 2))
    return np.asarray(1 - 2 * norm.cdf(-ratio) - tail)


def differing_parity(p: int, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of a triangle wave of period 2w under the p-stable distribution."""
    k = np.arange(1, 4001, 2)
    phase = np.pi * k / ratio[:, None]
    waves = np.exp(-phase) if p == 1 else np.exp(-(phase**2) / 2)
    return np.asarray(0.5 - 4 / np.pi**2 * (waves / k**2).sum(axis=1))


@pytest.mark.parametrize("p", [1, 2])
def test_bit_is_the_parity_of_the_bucket(p: int) -> None:
    hasher, points = fit(p, offsets(p))
    turns = hasher.embed(points)
    odd = bucket_numbers(hasher, points) % 2 == 1
    # Cauchy directions can be so long that float32 cannot resolve the position in a bucket.
    clear = (np.abs(turns) > 1e-2) & (np.linalg.norm(hasher.frequencies_, axis=1) < 100)
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(hasher.transform(points)[clear], odd[clear])


def test_offsets_are_uniform() -> None:
    hasher, _ = fit(2, offsets(2))
    inside = (hasher.phases_ - np.pi / 2) / np.pi
    np.testing.assert_allclose(
        np.histogram(inside, np.linspace(0, 1, 11))[0] / BITS, 0.1, atol=0.01
    )


@pytest.mark.parametrize("p", [1, 2])
def test_collision_probability_of_buckets(p: int) -> None:
    hasher, points = fit(p, offsets(p))
    numbers = bucket_numbers(hasher, points)
    fraction = (numbers[1:] == numbers[0]).mean(axis=1)
    np.testing.assert_allclose(fraction, same_bucket(p, WIDTH / DISTANCES), atol=0.012)


@pytest.mark.parametrize("p", [1, 2])
def test_collision_probability_of_bits(p: int) -> None:
    hasher, points = fit(p, offsets(p))
    bits = hasher.transform(points)
    fraction = (bits[1:] != bits[0]).mean(axis=1)
    np.testing.assert_allclose(fraction, differing_parity(p, WIDTH / DISTANCES), atol=0.012)


@pytest.mark.parametrize("p", [1, 2])
def test_bits_depend_on_the_p_norm_only(p: int) -> None:
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((5, 4))
    hasher, points = fit(p, drawn / np.linalg.norm(drawn, ord=p, axis=1, keepdims=True))
    bits = hasher.transform(points)
    fractions = (bits[1:] != bits[0]).mean(axis=1)
    np.testing.assert_allclose(fractions, fractions.mean(), atol=0.012)


@pytest.mark.parametrize("p", [1, 2])
def test_default_width_is_four_neighbor_distances(p: int) -> None:
    X = load_digits().data[:300]
    distances = np.sort(np.linalg.norm(X[:, None] - X, ord=p, axis=2), axis=1)
    width = PStableLSH(p=p, random_state=0).fit(X).width_
    assert width == pytest.approx(4 * distances[:, 50].mean())


def test_equal_rows_have_a_width() -> None:
    assert PStableLSH(random_state=0).fit(np.ones((9, 3))).width_ == 4.0


@pytest.mark.parametrize(
    ("name", "value"), [("p", 3), ("p", "2"), ("width", -1), ("width", 1e31), ("width", "4")]
)
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        PStableLSH(**{name: value}).fit(np.eye(3))
    assert (caught.value.name, caught.value.owner) == (name, "PStableLSH")
