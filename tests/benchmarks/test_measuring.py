"""How ratios are measured."""

from __future__ import annotations

import pytest
from benchmarks.measuring import Ratio, time_best, time_both


@pytest.mark.parametrize(
    ("value", "at_least", "is_kept"),
    [(1.0, False, True), (1.1, False, False), (1.0, True, True), (0.9, True, False)],
)
def test_bounds(value: float, at_least: bool, is_kept: bool) -> None:
    assert Ratio("x", value, 1.0, at_least).is_kept == is_kept


def test_runs_alternate_and_the_best_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.measuring.time.sleep", lambda _: None)
    calls: list[str] = []
    ours, theirs = time_both(lambda: calls.append("a"), lambda: calls.append("b"), n_runs=2)
    assert calls == ["a", "b", "a", "b"]
    assert min(ours, theirs) > 0
    assert time_best(lambda: calls.append("c"), n_runs=3) > 0
    assert calls.count("c") == 3
