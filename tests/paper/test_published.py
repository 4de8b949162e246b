"""Methods with the settings of published values on MNIST: `make paper`."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduction.pages.published import PUBLISHED, TOLERANCE, compute_means
from reproduction.records import RunRecords
from tests.paper.conftest import LoadData

pytestmark = pytest.mark.paper


def test_published_values_are_reproduced(tmp_path: Path, load_data: LoadData) -> None:
    means = compute_means(RunRecords(tmp_path / "records.jsonl"), lambda: load_data("mnist"))
    for row in PUBLISHED:
        for n_bits, theirs in row.values.items():
            ours = means[row.method, n_bits]
            print(f"\n{row.method}, {n_bits} bits: {ours:.1f}, published {theirs:.1f}")
            # A difference that a remark explains may be twice as large.
            assert abs(ours - theirs) <= (2 if row.remark else 1) * TOLERANCE, row.method
