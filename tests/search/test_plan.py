"""Plans cover the radius, and choose bits that separate the codes."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.search.parts import CodeSample, choose_columns, choose_parts, make_masks
from bitfold.search.plan import (
    choose_radii,
    count_flips,
    list_flips,
    plan_lookup,
    plan_scan,
    rate_parts,
)


def draw_sample(n_bits: int, n_codes: int = 100_000, seed: int = 0) -> CodeSample:
    words = np.random.default_rng(seed).integers(
        0, 2**64 - 1, (-(-n_bits // 64), n_codes), np.uint64, endpoint=True
    )
    if n_bits < 64:
        words &= np.uint64((1 << n_bits) - 1)
    return CodeSample.draw(words)


@pytest.mark.parametrize("n_bits", [8, 24, 64, 128, 1024])
def test_plan_covers_the_radius(n_bits: int) -> None:
    """However ``radius`` differing bits are spread, one part is probed far enough."""
    sample, n_plans = draw_sample(n_bits), 0
    for radius in (0, 1, 2, 5, 8, 20, 60):
        plan = plan_lookup(sample, min(radius, n_bits), np.inf)
        if plan is not None:
            n_plans += 1
            assert sum(r + 1 for r in plan.radii) > min(radius, n_bits)
            assert max(map(len, plan.parts)) <= 24
            bits = [bit for part in plan.parts for bit in part]
            assert len(set(bits)) == len(bits) and max(bits) < n_bits
            assert plan.ns < plan_scan(sample, radius).ns
    assert n_plans >= (1 if n_bits == 8 else 3)


def test_parts_separate_dependent_bits() -> None:
    """Every bit appears four times; a part with two copies of a bit would be crowded."""
    bits = np.random.default_rng(0).random((50_000, 16)) < 0.5
    copies = np.tile(bits, 4)
    words = np.packbits(copies, axis=1, bitorder="little").view(np.uint64)
    sample = CodeSample.draw(np.ascontiguousarray(words.T))
    parts = choose_parts(sample.differences, 4, 16)
    assert sorted(bit for part in parts for bit in part) == list(range(64))
    assert all(len({bit % 16 for bit in part}) == 16 for part in parts)
    consecutive = tuple(tuple(range(8 * p, 8 * p + 8)) for p in range(8))
    crowded = tuple((b, b + 16, b + 32, b + 48) for b in range(16))
    assert rate_parts(sample, consecutive, 7).ns < rate_parts(sample, crowded, 15).ns


def test_constant_bits_are_in_no_part() -> None:
    sample = draw_sample(20)
    parts = choose_parts(sample.differences, 3, 10)
    assert sorted(bit for part in parts for bit in part) == list(range(20))
    assert choose_parts(np.zeros((10, 64), np.float32), 3, 10) == ()


def test_radii_go_where_they_cost_least() -> None:
    costs = np.array([[1.0, 2, 4, 8], [5, 50, 500, 5000], [1, 2, 100, 1000]])
    assert choose_radii(costs, [3, 3, 3], 3) == (1, -1, 1)
    assert choose_radii(costs, [3, 3, 3], 4) == (2, -1, 1)
    assert choose_radii(costs, [3, 3, 3], 30) == (3, 3, 3)


def test_memory_limit() -> None:
    sample = draw_sample(64)
    plan = plan_lookup(sample, 8, np.inf)
    assert plan is not None
    smaller = plan_lookup(sample, 8, 12 * sample.n_codes * (len(plan.parts) - 1))
    assert smaller is None or len(smaller.parts) < len(plan.parts)
    assert plan_lookup(sample, 8, 0) is None


def test_scan_reads_as_few_words_as_necessary() -> None:
    sample = draw_sample(256)
    assert [plan_scan(sample, radius).n_words for radius in (2, 31, 100, 256)] == [1, 2, 4, 4]


@pytest.mark.parametrize(("width", "radius"), [(1, 0), (1, 1), (5, 0), (5, 2), (9, 3), (6, 6)])
def test_flips(width: int, radius: int) -> None:
    flips = list_flips(width, radius)
    expected = [value for value in range(1 << width) if value.bit_count() <= radius]
    assert flips.tolist() == expected
    assert len(flips) == count_flips(width, radius)
    assert len(list_flips(width, -1)) == count_flips(width, -1) == 0


def test_masks_and_columns() -> None:
    parts = ((0, 65), (64, 127))
    assert make_masks(parts, 2).tolist() == [[1, 2], [0, 1 + (1 << 63)]]
    differences = np.ones((4, 128), np.float32)
    differences[:, :10] = 0
    assert choose_columns(parts, differences).tolist() == [1, 1]
