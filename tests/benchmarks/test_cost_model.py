"""The cost model: lines through measured times, and the page that they are shown on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.cost_model import ENCODE, FIT, LOCAL, ONE_WORKER, SEARCH, TWO_WORKERS

from benchmarks import cost_model
from bitfold.io.records import RunRecords

DOCS = Path(__file__).parents[2] / "docs"
SIZES = (10**5, 10**6, 10**7)


def make_record(n_rows: int, place: str, seconds: float) -> dict[str, Any]:
    times = {FIT: seconds, ENCODE: seconds, SEARCH: seconds}
    result = {"seconds": times, "bytes": {"x": 8}}
    return {"case": {"place": place, "n_rows": n_rows}, "result": result}


def make_records(fixed: float, per_million: float, place: str = LOCAL) -> list[dict[str, Any]]:
    return [make_record(n, place, fixed + per_million * n / 1e6) for n in SIZES]


def test_line_is_found() -> None:
    found = cost_model.fit_costs(make_records(2, 3))[FIT, LOCAL]
    assert found.line == pytest.approx((2, 3))
    assert found.check == pytest.approx((10**7, 32, 32))
    assert found.check.factor == pytest.approx(1)


def test_largest_size_is_held_out() -> None:
    records = make_records(2, 3)
    records[-1]["result"]["seconds"][FIT] = 64
    found = cost_model.fit_costs(records)[FIT, LOCAL]
    assert found.line == pytest.approx((2, 3))
    assert found.check.factor == pytest.approx(2)


def test_terms_are_not_negative_and_errors_relative() -> None:
    points = {10: 1.0, 10**6: 1.0, 3 * 10**6: 2.9, 10**7: 10.0}
    line = cost_model.fit_line(points)
    assert min(line) >= 0
    assert cost_model.fit_line({10**6: 1.0, 2 * 10**6: 3.0}).fixed == 0
    errors = [line.predict(n) / seconds - 1 for n, seconds in points.items()]
    assert np.abs(errors).max() < 0.7


def test_two_sizes_are_not_enough() -> None:
    assert cost_model.fit_costs(make_records(2, 3)[:2]) == {}


@pytest.mark.parametrize(("n_workers", "seconds"), [(1, 9), (2, 6), (10, 2)])
def test_more_workers_divide_the_work_like_the_second(n_workers: int, seconds: float) -> None:
    records = [*make_records(1, 8, ONE_WORKER), *make_records(1, 5, TWO_WORKERS)]
    costs = cost_model.fit_costs(records)
    predicted = cost_model.predict_on_workers(costs, FIT, 1e6, n_workers)
    assert predicted == pytest.approx(seconds)


def test_page_changes_only_between_its_markers() -> None:
    before = (DOCS / "scaling.md").read_text("utf-8")
    records = [
        *make_records(1, 6),
        *make_records(1, 8, ONE_WORKER),
        *make_records(1, 5, TWO_WORKERS),
    ]
    after = cost_model.update_page(before, records)
    assert "| 10,000,000 | 61 s | 81 s | 51 s |" in after
    assert "| fit | 61 s | measured |" in after
    assert "| 1,000,000,000 | 8 GB | 64 |" in after
    assert cost_model.update_page(after, records) == after
    assert cost_model.update_page(after, []) == cost_model.update_page(before, [])


def test_page_without_markers_is_rejected() -> None:
    with pytest.raises(ValueError, match="bytes"):
        cost_model.update_page("nothing", [])


def test_page_of_the_docs_is_up_to_date() -> None:
    text = (DOCS / "scaling.md").read_text("utf-8")
    assert cost_model.update_page(text, list(RunRecords(DOCS / "scaling.jsonl"))) == text
