"""Methods at the settings of published figures on MNIST: `make paper`."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduction.published import CLOSE, PUBLISHED, run
from reproduction.records import Records

from bitfold import datasets
from bitfold.errors import MissingDataError

pytestmark = pytest.mark.paper


def test_they_are_where_the_literature_has_them(tmp_path: Path) -> None:
    try:
        data = datasets.mnist()
    except MissingDataError as error:
        pytest.skip(f"needs real data: {error}")
    means = run(Records(tmp_path / "records.jsonl"), lambda: data)
    for row in PUBLISHED:
        for n_bits, figure in row.figures.items():
            ours = means[row.method, n_bits]
            print(f"\n{row.method}, {n_bits} bits: {ours:.1f}, published {figure:.1f}")
            # A difference that a remark explains may be twice as large.
            assert abs(ours - figure) <= (2 if row.remark else 1) * CLOSE, row.method
