"""Histograms of spherical distances against exact fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.hashers import SpH
from bitfold.metrics import average_precision, scan_histograms, spherical_histograms


def distance(a: NDArray[Any], b: NDArray[Any]) -> Fraction:
    n_one, n_both = int((a != b).sum()), int((a & b).sum())
    return Fraction(n_one, n_both) if n_both else Fraction(n_one * len(a))


def trim(counts: NDArray[np.int64]) -> list[int]:
    return list(np.trim_zeros(counts, "b"))


@given(st.integers(0, 2**32), st.sampled_from([1, 5, 64, 65, 200]), st.sampled_from([0.1, 0.5]))
def test_counts_are_those_of_exact_fractions(seed: int, n_bits: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.random((n, n_bits)) < density for n in (3, 40))
    labels, query_labels = rng.integers(3, size=40), rng.integers(3, size=3)
    codes = Codes.from_bits(a), Codes.from_bits(b)
    found, relevant = spherical_histograms(*codes, query_labels, labels)
    for query, row, relevant_row, label in zip(a, found, relevant, query_labels, strict=True):
        distances = [distance(query, code) for code in b]
        counts = Counter(distances)
        assert trim(row) == [counts[d] for d in sorted(counts)]
        same = Counter(d for d, other in zip(distances, labels, strict=True) if other == label)
        assert relevant_row[: len(counts)].tolist() == [same[d] for d in sorted(counts)]


def test_measures_are_those_of_a_scan() -> None:
    rng = np.random.default_rng(0)
    codes = Codes.from_bits(rng.random((300, 48)) < 0.5)
    labels = rng.integers(4, size=300)
    found = spherical_histograms(codes[:50], codes, labels[:50], labels)
    by_scan = scan_histograms(SpH.distance(codes[:50], codes), labels[:50, None] == labels)
    np.testing.assert_allclose(average_precision(found), average_precision(by_scan))


def test_progress_counts_queries() -> None:
    codes = Codes.from_bits(np.eye(40, dtype=bool))
    steps: list[tuple[str, int, int]] = []
    spherical_histograms(
        codes,
        codes,
        np.zeros(40, int),
        np.zeros(40, int),
        progress=lambda *step: steps.append(step),
    )
    assert steps[-1] == ("spherical distances", 40, 40)


def test_different_lengths_raise() -> None:
    a, b = Codes.from_bits(np.zeros((2, 8))), Codes.from_bits(np.zeros((2, 9)))
    with pytest.raises(ParameterError, match="9 bits"):
        spherical_histograms(a, b, [0, 0], [0, 0])
