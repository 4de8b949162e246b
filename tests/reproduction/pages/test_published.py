"""The page of published values."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduction.pages.published import (
    PUBLISHED,
    SEEDS,
    Published,
    compute_means,
    measure_map,
    run_published,
    write_published,
)
from reproduction.records import RunRecords

from bitfold.datasets import Dataset, digits
from bitfold.hashers import CCAITQ, LSH
from reproduction.pages import published

DOCS = Path(__file__).parents[3] / "docs"


def test_hashers_can_be_made() -> None:
    for row in PUBLISHED:
        for n_bits in row.values:
            assert row.make(n_bits).get_params()["n_bits"] == n_bits


def test_large_differences_are_bold(tmp_path: Path) -> None:
    means = {(row.method, n): value for row in PUBLISHED for n, value in row.values.items()}
    means["ITQ", 12] += 2.1
    means["ITQ", 24] -= 1.9
    text = write_published(means, tmp_path).read_text(encoding="utf-8")
    assert "| ITQ | defaults | 12 | 40.9 | 38.8 | **+2.1** |" in text
    assert "| ITQ | defaults | 24 | 41.7 | 43.6 | -1.9 |" in text
    assert text.count("**+") + text.count("**-") == 1


def test_recorded_cases_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "PUBLISHED", [Published("LSH", "", LSH, {8: 1.0}, "x")])
    data = digits()
    loaded: list[Dataset] = []

    def load() -> Dataset:
        loaded.append(data)
        return data

    path = tmp_path / "records.jsonl"
    first = compute_means(RunRecords(path), load)
    assert len(loaded) == len(SEEDS)
    assert compute_means(RunRecords(path), load) == first
    assert len(loaded) == len(SEEDS)


def test_number_of_labels_is_limited() -> None:
    data = digits()
    few = Published("CCA-ITQ", "", CCAITQ, {8: 1.0}, "x", n_labels=50)
    every = few._replace(n_labels=len(data.labels))
    assert measure_map(few, 8, 0, data) < measure_map(every, 8, 0, data)


def test_page_of_the_docs_is_up_to_date(tmp_path: Path) -> None:
    path = write_published(run_published(DOCS), tmp_path)
    assert path.read_text("utf-8") == (DOCS / "published.md").read_text("utf-8")
