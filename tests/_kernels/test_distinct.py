"""Distinct codes, compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold._kernels.distinct import group, list_members


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 3), st.integers(1, 9))
@pytest.mark.parametrize("load", ["nearly full", "half empty"])
def test_groups_are_those_of_numpy(
    load: str, seed: int, n_items: int, n_words: int, n_values: int
) -> None:
    words = np.random.default_rng(seed).integers(0, n_values, (n_items, n_words)).astype(np.uint64)
    n_slots = 1 << (n_items if load == "nearly full" else 2 * n_items).bit_length()
    distinct, code_of = words.copy(), np.empty(n_items, np.uint32)
    count = group(distinct, np.full(n_slots, -1, np.int32), code_of)
    assert count == len(np.unique(words, axis=0))
    assert np.array_equal(distinct[:count][code_of], words)
    # Codes are numbered in the order of their first items.
    _, firsts = np.unique(code_of, return_index=True)
    assert (np.diff(firsts) > 0).all()
    starts, members = np.empty(count + 1, np.uint32), np.empty(n_items, np.uint32)
    list_members(code_of, starts, members)
    listed = [members[starts[c] : starts[c + 1]].tolist() for c in range(count)]
    assert listed == [np.flatnonzero(code_of == c).tolist() for c in range(count)]
