"""What is concluded from the records of the comparison."""

from __future__ import annotations

from reproduction.pages.comparison_summary import (
    MethodResult,
    describe_results,
    list_untimed,
    rank_methods,
)
from reproduction.records import Case, RunRecords
from reproduction.shared_types import Record


def make_record(method: str, n_bits: int, value: float, seconds: float | None = None) -> Record:
    times = {} if seconds is None else {"fit_seconds": seconds}
    return RunRecords().add(Case("mnist", method, n_bits), {"map": value, **times})


RECORDS = [
    make_record("IMH", 16, 80.0, 30.0),
    make_record("IMH", 64, 90.0, 30.0),
    make_record("IMH", 128, 91.0, 30.0),
    make_record("IMH-LE", 64, 70.0, 12.0),
    make_record("AGH", 16, 50.0, 4.0),
    make_record("AGH", 64, 40.0, 4.0),
    make_record("AGH", 128, 30.0, 4.0),
    make_record("IMHs", 9, 85.0),
    make_record("KSH", 64, 92.0),
    RunRecords().add(Case("mnist", "IMHs", 64), {"error": "n_bits"}),
    RunRecords().add(Case("manifold-10", "LSH", 64), {"map": 99.0}),
]


def test_methods_are_ranked_at_their_longest_codes_of_64_bits_or_fewer() -> None:
    unlabeled, labeled = rank_methods(RECORDS, "mnist")
    assert unlabeled == [
        MethodResult("IMH", 64, 90.0, 30.0),
        MethodResult("IMH-LE", 64, 70.0, 12.0),
        MethodResult("AGH", 64, 40.0, 4.0),
    ]
    assert [result.title for result in labeled] == ["KSH", "IMHs (9 bits)"]


def test_conclusions_name_the_best_methods() -> None:
    text = describe_results(RECORDS, "mnist", "MNIST")
    assert text == (
        "Without labels, IMH has the highest MAP of 64-bit codes on MNIST, 90.0 percent; the best "
        "of another kind is AGH (40.0). With labels, KSH has the highest, 92.0; 1 of the 2 methods "
        "that learn from labels exceeds IMH. Of the methods without labels that fit in less than "
        "10 seconds, AGH (40.0) has the highest. Longer codes are not always better: from 16 to "
        "128 bits, MAP falls for 1 of 2 methods (AGH)."
    )


def test_conclusions_name_equal_methods_together() -> None:
    records = [*RECORDS, make_record("SDH", 64, 92.04)]
    text = describe_results(records, "mnist", "MNIST")
    assert "With labels, SDH and KSH have the highest, 92.0; 2 of the 3 methods" in text
    assert "exceed IMH." in text


def test_nothing_is_concluded_from_nothing() -> None:
    assert describe_results(RECORDS, "manifold-64", "sheets") == ""
    only = describe_results(RECORDS, "manifold-10", "sheets")
    assert (
        only == "Without labels, LSH has the highest MAP of 64-bit codes on sheets, 99.0 percent."
    )


def test_fast_method_is_not_named_twice() -> None:
    records = [make_record("ITQ", 64, 50.0, 1.0), make_record("LSH", 64, 40.0, 1.0)]
    assert "fit in less than" not in describe_results(records, "mnist", "MNIST")


def test_no_fast_method_is_named_if_a_better_one_has_no_time() -> None:
    records = [*RECORDS, make_record("IMH-tSNE", 64, 85.0)]
    assert "fit in less than" not in describe_results(records, "mnist", "MNIST")
    slow = [make_record("ITQ", 64, 50.0, 11.0), make_record("LSH", 64, 40.0, 12.0)]
    assert "fit in less than" not in describe_results(slow, "mnist", "MNIST")


def test_methods_without_times_are_listed_once() -> None:
    records = [*RECORDS, make_record("KSH", 16, 80.0)]
    assert list_untimed(records) == ["IMHs", "KSH", "LSH"]
