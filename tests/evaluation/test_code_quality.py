"""Quality of codes over the whole list."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.codes import Codes
from bitfold.evaluation import measure_codes
from bitfold.metrics import Relevance


def test_ties_count_as_their_mean() -> None:
    codes = Codes.from_bits([[0], [0], [0], [0]])
    quality = measure_codes(
        codes[:1], codes, Relevance.from_labels([1], [1, 0, 0, 0]), cutoffs=[1, 9]
    )
    assert quality.cutoffs == (1,)
    assert quality.precision_at == (0.25,)
    assert quality.map == pytest.approx(np.mean([1, 1 / 2, 1 / 3, 1 / 4]))
