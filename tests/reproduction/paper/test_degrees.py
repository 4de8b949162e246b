"""What the paper's words of degree require."""

from __future__ import annotations

import pytest
from reproduction.paper.degrees import (
    ANY,
    LARGE,
    MUCH,
    SIGNIFICANTLY,
    SLIGHTLY,
    Degree,
    measure_stability,
)
from reproduction.paper.reported import BASE_METHOD, BASE_SIZE, BASE_SIZES


def by_seed(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


@pytest.mark.parametrize(
    ("degree", "lead", "holds"),
    [
        (ANY, 0.1, True),
        (ANY, -0.1, False),
        (MUCH, 1.9, False),
        (MUCH, 2.1, True),
        (SLIGHTLY, 1.9, True),
        (SLIGHTLY, 2.1, False),
        (SLIGHTLY, -0.1, False),
        (SIGNIFICANTLY, 0.5, False),
        (SIGNIFICANTLY, 5.0, True),
    ],
)
def test_words_are_fractions_of_the_rival(degree: Degree, lead: float, holds: bool) -> None:
    low = by_seed(19.9, 20.0, 20.1)
    high = {seed: value + lead + (seed - 1) / 2 for seed, value in low.items()}
    assert degree.holds(degree.measure_margin(high, low)) is holds


def test_the_threshold_is_where_the_paper_changes_its_words() -> None:
    """Much better in Table I is above it; slightly better, and no dramatic change, are below."""
    for n_bits in (32, 64, 96):
        le, tsne, agh = (
            BASE_METHOD[n_bits, "kmeans", name].mean for name in ("IMH-LE", "IMH-tSNE", "AGH")
        )
        assert le / agh - 1 > LARGE
        assert 0.04 < tsne / le - 1 < LARGE
    values = dict(zip(BASE_SIZES, BASE_SIZE["cifar10"], strict=True))
    assert 0.06 < values[10000] / values[400] - 1 < LARGE


@pytest.mark.parametrize(("other", "is_stable"), [(21.9, True), (22.1, False), (17.9, False)])
def test_a_change_in_either_direction_can_be_large(other: float, is_stable: bool) -> None:
    margin = measure_stability(by_seed(20.0, 20.0), by_seed(other, other))
    assert (margin.mean > 0) is is_stable


def test_a_requirement_is_described() -> None:
    assert MUCH.describe(20.0, 2) == "; more than +2.00 required"
    assert SLIGHTLY.describe(20.0, 1) == "; at most +2.0 allowed"
    assert ANY.describe(20.0, 2) == SIGNIFICANTLY.describe(20.0, 2) == ""
    assert MUCH.criterion == "by more than 10 %"
    assert SLIGHTLY.criterion == "by less than 10 %"
    assert "interval" in SIGNIFICANTLY.criterion
