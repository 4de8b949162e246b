"""Problems of bits: correlations as numpy computes them, and sentences that name the bits."""

from __future__ import annotations

import numpy as np

from bitfold.explorer.bit_findings import correlations, find_problems


def test_correlations_equal_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (50, 5), np.uint8)
    counts = rng.integers(1, 9, 50)
    balance, matrix = correlations(bits, counts.astype(float))
    repeated = np.repeat(bits, counts, axis=0)
    np.testing.assert_allclose(balance, repeated.mean(axis=0))
    np.testing.assert_allclose(matrix, np.corrcoef(repeated.T), atol=1e-12)
    bits[:, 0] = 1
    assert not correlations(bits, counts.astype(float))[1][0].any()


def levels(bits: np.ndarray, largest: float = 0.0, entropy: float = 1.0) -> dict[str, str]:
    balance, matrix = correlations(bits, np.ones(len(bits)))
    found = find_problems(balance, matrix, largest, entropy)
    return {finding.sentence: finding.level for finding in found}


def test_findings_name_the_problems_of_a_model() -> None:
    good = np.random.default_rng(0).integers(0, 2, (4000, 10), np.uint8)
    assert levels(good) == {}
    constant = good.copy()
    constant[:, [2, 7]] = 0
    assert levels(constant) == {"2 of 10 bits are the same for nearly all items: 2, 7.": "bad"}
    repeated = good.copy()
    repeated[:, 4] = 1 - repeated[:, 1]
    assert levels(repeated) == {"1 of 10 bits repeats or negates an earlier one: 4.": "fair"}
    assert list(levels(good, largest=0.1).values()) == ["fair"]
    assert list(levels(good, largest=0.6).values()) == ["bad"]
    assert list(levels(good, entropy=0.4).values()) == ["fair"]
