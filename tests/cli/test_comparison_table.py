"""The table of a comparison, and the codes to choose from."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from bitfold.cli._comparison_table import list_errors, list_options, make_table


def make_record(method: str, n_bits: int, result: dict[str, Any]) -> dict[str, Any]:
    return {"case": {"method": method, "n_bits": n_bits}, "result": result}


def test_table_has_means_and_dashes() -> None:
    records = [
        make_record(
            "itq", 16, {"precision_10": 0.5, "recall_10": 0.1, "search_map": 0.40, "f1": 0.5}
        ),
        make_record(
            "itq", 16, {"precision_10": 0.6, "recall_10": 0.1, "search_map": 0.41, "f1": 0.5}
        ),
        make_record("itq", 128, {"error": "n_bits of ITQ must be at most 64, got 128."}),
    ]
    for is_labeled, first in ((True, ["0.550", "0.100"]), (False, ["0.100"])):
        console = Console(width=80)
        with console.capture() as captured:
            console.print(make_table(records, is_labeled=is_labeled))
        short, long = (line.split() for line in captured.get().splitlines() if "itq" in line)
        assert short == ["itq", "16", *first, "0.405", "0.50", "–", "–"]
        assert long == ["itq", "128", *["–"] * (len(first) + 4)]


def test_one_error_per_method() -> None:
    records = [
        make_record("itq", n_bits, {"error": f"n_bits of ITQ must be at most 64, got {n_bits}."})
        for n_bits in (256, 128)
    ]
    assert list_errors(records) == ["n_bits of ITQ must be at most 64, got 128."]


def test_options_are_means_over_seeds() -> None:
    records = [
        make_record("itq", 16, {"recall_10": 0.2, "precision_10": None, "search_map": 0.40}),
        make_record("itq", 16, {"recall_10": 0.4, "precision_10": None, "search_map": 0.42}),
        make_record("supervisedimh", 0, {"recall_10": 0.1, "n_bits": 9, "search_map": 0.90}),
        make_record("lsh", 99, {"error": "…"}),
    ]
    itq, supervised = list_options(records, "recall_10")
    assert (itq.method, itq.n_bits, round(itq.score, 6), round(itq.map, 6)) == (
        "itq",
        16,
        0.3,
        0.41,
    )
    assert supervised.n_bits == 9
    assert list_options(records, "precision_10") == []
