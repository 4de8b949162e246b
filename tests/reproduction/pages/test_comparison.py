"""Tables of comparisons, and what they recommend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from reproduction.records import Case, Records
from reproduction.tables import MEASURES, grid, measure_table, recommend
from tests.reproduction.made_up import made_up

from reproduction import comparison


def test_the_grid_has_means_dashes_and_refusals() -> None:
    cases = [Case("digits", "ITQ", n, seed) for n in (16, 128) for seed in (0, 1)]
    records = [made_up(case) for case in cases]
    for record in records[2:]:
        record["result"] = {"error": "n_bits of ITQ must be at most n_features=64, got 128."}
    table = grid(records)
    assert [n for _, n in table.heads] == [16, 128] * 4
    name, cells = table.rows[0]
    mean = np.mean([record["result"]["map"] for record in records[:2]])
    assert (name, cells[0], cells[1]) == ("ITQ", f"{mean:.1f}", "–")
    assert table.refusals == ["n_bits of ITQ must be at most n_features=64, got 128."]
    records[3]["result"]["error"] = "n_bits of ITQ must be at most n_features=64, got 256."
    assert grid(records).refusals == ["n_bits of ITQ must be at most n_features=64, got 128, 256."]
    assert measure_table(records, MEASURES[0]).splitlines()[2] == f"| ITQ | {mean:.1f} | – |"


def test_the_shortest_code_that_is_nearly_the_best_is_recommended() -> None:
    scores = {("ITQ", 16): 50.0, ("SH", 16): 60.2, ("ITQ", 32): 61.0, ("SH", 32): 40.0}
    cases = {Case("digits", method, n_bits): score for (method, n_bits), score in scores.items()}
    records = [Records(None).add(case, {"map": score}) for case, score in cases.items()]
    assert recommend(records) == ("SH", 16, 60.2)
    assert recommend(records, slack=0.5) == ("ITQ", 32, 61.0)
    assert recommend([Records(None).add(Case("digits", "ITQ", 99), {"error": "."})]) is None


def test_the_page_of_comparisons_has_every_data_set_and_measure(tmp_path: Path) -> None:
    records = Records(None)
    for data in ("mnist", "manifold-10"):
        records.add(Case(data, "ITQ", 16), {"map": 12.34})
    text = comparison.page(records, tmp_path).read_text(encoding="utf-8")
    assert text.count("## ") == 2
    assert "curved sheets in 10 dimensions" in text
    assert text.count("| ITQ | 12.3 |") == 2
    assert text.count("| ITQ | – |") == 6
