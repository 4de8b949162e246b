"""Results that are shown as pictures."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.columns import BITFOLD, PUBLISHED, name_in_column
from reproduction.experiments.pictures import find_majority, measure_plane
from reproduction.image_encoding import decode_array
from reproduction.records import Case

from bitfold import datasets

SETTINGS = (("base", "kmeans"), ("n_base_points", 100), ("n_neighbors", 5))


@pytest.mark.parametrize("column", [PUBLISHED, BITFOLD])
def test_rows_are_drawn_among_the_base_points(column: str) -> None:
    data = datasets.digits()
    case = Case("digits", name_in_column("IMH-tSNE", column), 2, measure="plane", options=SETTINGS)
    result = measure_plane(case, data)
    base, points = decode_array(result["base"]), decode_array(result["points"])
    distances = np.abs(points[:, :, None].astype(int) - base[:, None].astype(int)).max(axis=0)
    assert np.median(distances.min(axis=1)) < 20  # thousandths of the picture
    assert result["share"] > 75


def test_empty_groups_have_the_other_label() -> None:
    groups, labels = np.array([0, 0, 2, 2, 2]), np.array([4, 4, 7, 7, 1], np.uint8)
    found = find_majority(groups, labels, np.array([0, 9, 0], np.uint8))
    assert found.tolist() == [4, 9, 7]
