"""Near-duplicates: the groups of the index itself, largest first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import index_bits

import bitfold as bf
from bitfold.explorer.duplicates import DuplicateGroups, group_rows
from bitfold.explorer.queries import NotFoundError

BITS = np.random.default_rng(0).integers(0, 2, (500, 12), np.uint8)


@pytest.mark.parametrize("radius", [0, 1, 2])
def test_groups_are_those_of_the_index(tmp_path: Path, radius: int) -> None:
    groups = group_rows(index_bits(tmp_path, BITS).model, radius)
    index = bf.HammingIndex(12)
    index.add(bf.Codes.from_bits(BITS))
    stars = index.clusters(radius, linkage="star")
    wanted = {tuple(part) for part in np.split(stars.ids, stars.offsets[1:-1])}
    found = {tuple(sorted(groups.group(i)[0].tolist())) for i in range(len(groups))}
    assert found == wanted
    sizes = np.diff(groups.offsets)
    assert (np.diff(sizes) <= 0).all() and groups.at_least(3) == np.count_nonzero(sizes >= 3)
    for number in range(len(groups)):
        rows, distances = groups.group(number)
        assert rows[0] == rows.min() or distances[0] == 0
        assert distances.tolist() == (BITS[rows] != BITS[rows.min()]).sum(axis=1).tolist()


def test_wide_radii_are_limited_and_kept(tmp_path: Path) -> None:
    groups = DuplicateGroups(index_bits(tmp_path, BITS).model)
    assert groups.find(12) is groups.find(3)
    with pytest.raises(NotFoundError, match="Group -1"):
        groups.find(0).group(-1)


def test_no_duplicates(tmp_path: Path) -> None:
    groups = group_rows(index_bits(tmp_path, np.eye(4, dtype=np.uint8)).model, 1)
    assert len(groups) == 0 and groups.at_least(2) == 0
