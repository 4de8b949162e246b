"""The table of a comparison, and the recommendation."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from bitfold.cli._comparison_table import list_errors, make_table, recommend


def make_record(method: str, n_bits: int, result: dict[str, Any]) -> dict[str, Any]:
    return {"case": {"method": method, "n_bits": n_bits}, "result": result}


def test_table_has_means_and_dashes() -> None:
    records = [
        make_record("ITQ", 16, {"map": 40.0, "f1": 0.5}),
        make_record("ITQ", 16, {"map": 41.0, "f1": 0.5}),
        make_record("ITQ", 128, {"error": "n_bits of ITQ must be at most 64, got 128."}),
    ]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(make_table(records))
    row = next(line for line in captured.get().splitlines() if "ITQ" in line)
    assert row.split() == ["ITQ", "40.5", "–", "0.50", "–", "–", "–", "–", "–"]


def test_one_error_per_method() -> None:
    records = [
        make_record("ITQ", n_bits, {"error": f"n_bits of ITQ must be at most 64, got {n_bits}."})
        for n_bits in (256, 128)
    ]
    assert list_errors(records) == ["n_bits of ITQ must be at most 64, got 128."]


def test_shortest_code_near_the_best_is_recommended() -> None:
    scores = {("ITQ", 16): 50.0, ("SH", 16): 60.2, ("ITQ", 32): 61.0, ("SH", 32): 40.0}
    records = [make_record(*setting, {"map": score}) for setting, score in scores.items()]
    assert recommend(records) == ("SH", 16, 60.2)
    assert recommend(records, slack=0.5) == ("ITQ", 32, 61.0)
    assert recommend([make_record("ITQ", 99, {"error": "…"})]) is None
