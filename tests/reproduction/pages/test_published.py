"""The page of published figures: what it says of a difference, and that nothing is run twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduction.published import PUBLISHED, SEEDS, Published, measure, page, run
from reproduction.records import Records

from bitfold.datasets import Dataset, digits
from bitfold.hashers import CCAITQ, LSH
from reproduction import published


def test_every_row_can_be_made() -> None:
    for row in PUBLISHED:
        for n_bits in row.figures:
            assert row.make(n_bits).get_params()["n_bits"] == n_bits


def test_the_page_marks_what_is_far_off(tmp_path: Path) -> None:
    means = {(row.method, n): figure for row in PUBLISHED for n, figure in row.figures.items()}
    means["ITQ", 12] += 2.1
    means["ITQ", 24] -= 1.9
    text = page(means, tmp_path).read_text(encoding="utf-8")
    assert "| ITQ | defaults | 12 | 40.9 | 38.8 | **+2.1** |" in text
    assert "| ITQ | defaults | 24 | 41.7 | 43.6 | -1.9 |" in text
    assert text.count("**+") + text.count("**-") == 1


def test_what_has_a_record_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "PUBLISHED", [Published("LSH", "", LSH, {8: 1.0}, "x")])
    data = digits()
    loaded: list[Dataset] = []

    def load() -> Dataset:
        loaded.append(data)
        return data

    path = tmp_path / "records.jsonl"
    first = run(Records(path), load)
    assert len(loaded) == len(SEEDS)
    assert run(Records(path), load) == first
    assert len(loaded) == len(SEEDS)


def test_labels_are_kept_for_so_many_rows() -> None:
    data = digits()
    few = Published("CCA-ITQ", "", CCAITQ, {8: 1.0}, "x", n_labels=50)
    every = few._replace(n_labels=len(np.asarray(data.labels)))
    assert measure(few, 8, 0, data) < measure(every, 8, 0, data)
