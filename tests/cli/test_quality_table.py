"""The table of the quality of first hits."""

from __future__ import annotations

from rich.console import Console

from bitfold.cli._quality_table import format_share, make_quality_table
from bitfold.evaluation import TopQuality


def render(**qualities: TopQuality) -> list[str]:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(make_quality_table(qualities))
    return captured.get().splitlines()


def test_labeled_rows_have_all_measures() -> None:
    itq = TopQuality(0.25, 0.456, 0.61, 0.44, 0.355, 0.168, 0.013, 58199)
    lines = render(itq=itq, chance=TopQuality(0.0001, 0.001, 0.002, 0.05, 0.05, 0.05))
    row = next(line for line in lines if "itq" in line)
    assert row.split() == [
        "itq", "0.440", "0.355", "0.168", "0.250", "0.456", "0.610", "1.3", "%", "58,199",
    ]  # fmt: skip
    assert next(line for line in lines if "chance" in line).split()[-2:] == ["–", "–"]


def test_without_labels_there_is_only_recall() -> None:
    lines = render(itq=TopQuality(0.25, 0.456, 0.61))
    assert not any("P@10" in line or "MAP" in line for line in lines)
    assert next(line for line in lines if "itq" in line).split()[1:4] == ["0.250", "0.456", "0.610"]


def test_tiny_values_stay_visible() -> None:
    assert format_share(0.00017) == "0.00017"
    assert (format_share(0.0), format_share(None)) == ("0.000", "–")


def test_labeled_table_fits_into_80_columns() -> None:
    million = TopQuality(0.00017, 0.456, 0.61, 0.44, 0.355, 0.168, 1.0, 1_234_567)
    console = Console(width=120)
    with console.capture() as captured:
        console.print(make_quality_table({"this model, asymmetric": million}))
    assert max(map(len, captured.get().splitlines())) <= 80
