"""Asymmetric ranking of a few codes."""

from __future__ import annotations

import numpy as np
from reproduction.which_code.asymmetric import score_bits, search_by_embedding, unpack_signs

from bitfold import Codes

BITS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], np.uint8)


def test_nearest_is_the_largest_product_and_ties_go_by_id() -> None:
    embedding = np.array([[2.0, 1.0], [-1.0, 3.0]])
    found = search_by_embedding(Codes.from_bits(BITS), embedding, 4)
    assert found.tolist() == [[3, 4, 2, 1], [1, 3, 4, 0]]


def test_scores_are_minus_the_products() -> None:
    signs = unpack_signs(Codes.from_bits(BITS))
    assert signs.tolist()[:2] == [[-1, -1], [-1, 1]]
    assert score_bits(np.array([[2.0, 1.0]]), signs).tolist() == [[3, 1, -1, -3, -3]]


def test_blocks_cover_all_queries() -> None:
    rng = np.random.default_rng(0)
    codes = Codes.from_bits(rng.integers(0, 2, (60, 16)))
    embedding = rng.standard_normal((120, 16))
    found = search_by_embedding(codes, embedding, 5)
    one_by_one = [search_by_embedding(codes, row[None], 5)[0] for row in embedding]
    np.testing.assert_array_equal(found, one_by_one)
