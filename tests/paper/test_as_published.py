"""IMH with the authors' settings next to a plain program without approximations: `make paper`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.paper import plain_imh
from tests.paper.conftest import LoadData

import bitfold as bf
from bitfold.evaluation import evaluate, measure_codes

N_BITS, N_BASE_POINTS = 64, 400


@pytest.mark.paper
def test_mnist_equals_a_plain_program(
    load_data: LoadData, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load_data("mnist")
    ours, plain = [], []
    for seed in range(5):
        hasher = bf.IMH.as_published(N_BITS, n_base_points=N_BASE_POINTS, random_state=seed)
        ours.append(100 * evaluate(hasher, data).quality.map)
        bits = plain_imh.encode(data.database, data.queries, N_BITS, N_BASE_POINTS, seed)
        queries, database = (bf.Codes.from_bits(part) for part in (bits.queries, bits.database))
        plain.append(100 * measure_codes(queries, database, data.relevance).map)
    with capsys.disabled():
        for name, values in (("as published", ours), ("plain program", plain)):
            print(f"\n{name}: MAP {np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}")
    # Runs of either program vary by a standard deviation of 1 to 2.5, so means of five by up to 1.
    assert abs(np.mean(ours) - np.mean(plain)) < 3
