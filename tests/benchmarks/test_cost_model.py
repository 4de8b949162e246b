"""The cost model: lines through what was measured, and a page that its records can rewrite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks._costs import ENCODE, FIT, LOCAL, ONE, SEARCH, TWO
from reproduction.records import Records

from benchmarks import _costs

DOCS = Path(__file__).parents[2] / "docs"
SIZES = (10**5, 10**6, 10**7)


def record(n: int, place: str, seconds: dict[str, float]) -> dict[str, Any]:
    return {"case": {"method": place, "rows": n}, "result": {"seconds": seconds, "bytes": {"x": 8}}}


def made(fixed: float, per_million: float, place: str = LOCAL) -> list[dict[str, Any]]:
    took = {n: fixed + per_million * n / 1e6 for n in SIZES}
    return [record(n, place, {FIT: took[n], ENCODE: took[n], SEARCH: took[n]}) for n in SIZES]


def test_a_line_is_found_and_foretells() -> None:
    found = _costs.costs(_costs.times(made(2, 3)))[FIT, LOCAL]
    assert found.line == pytest.approx((2, 3))
    assert found.check == pytest.approx((10**7, 32, 32))
    assert found.check.factor == pytest.approx(1)


def test_the_largest_size_has_no_say_in_the_line() -> None:
    records = made(2, 3)
    records[-1]["result"]["seconds"][FIT] = 64
    found = _costs.costs(_costs.times(records))[FIT, LOCAL]
    assert found.line == pytest.approx((2, 3))
    assert found.check.factor == pytest.approx(2)


def test_constants_are_never_negative_and_small_sizes_count_as_large_ones() -> None:
    points = {10: 1.0, 10**6: 1.0, 3 * 10**6: 2.9, 10**7: 10.0}
    line = _costs.line(points)
    assert min(line) >= 0
    assert _costs.line({10**6: 1.0, 2 * 10**6: 3.0}).fixed == 0
    misses = [line.seconds(n) / took - 1 for n, took in points.items()]
    assert np.abs(misses).max() < 0.7


def test_two_sizes_are_no_model() -> None:
    assert _costs.costs(_costs.times(made(2, 3)[:2])) == {}


def test_more_workers_share_as_the_second_did() -> None:
    found = _costs.costs(_costs.times([*made(1, 8, ONE), *made(1, 5, TWO)]))
    assert _costs.on_workers(found, FIT, 1e6, 1) == pytest.approx(9)
    assert _costs.on_workers(found, FIT, 1e6, 2) == pytest.approx(6)
    assert _costs.on_workers(found, FIT, 1e6, 10) == pytest.approx(2)


def test_the_page_is_rewritten_between_its_markers_only() -> None:
    before = (DOCS / "scaling.md").read_text("utf-8")
    records = [*made(1, 6), *made(1, 8, ONE), *made(1, 5, TWO)]
    after = _costs.page(before, records)
    assert "| 10,000,000 | 61 s | 81 s | 51 s |" in after
    assert "| fit | 61 s | measured |" in after
    assert "| 1,000,000,000 | 8 GB | 64 |" in after
    assert _costs.page(after, records) == after
    assert _costs.page(after, []) == _costs.page(before, [])
    with pytest.raises(ValueError, match="must have one part 'bytes' between its markers"):
        _costs.page("nothing", records)


def test_the_page_is_what_its_records_say() -> None:
    text = (DOCS / "scaling.md").read_text("utf-8")
    assert _costs.page(text, list(Records(DOCS / "scaling.jsonl"))) == text
