"""Asymmetric ranking of a few codes."""

from __future__ import annotations

import numpy as np
from reproduction.which_code.asymmetric import score_bits, unpack_signs

from bitfold import Codes, HammingIndex

BITS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], np.uint8)


def test_scores_are_minus_the_products() -> None:
    signs = unpack_signs(Codes.from_bits(BITS))
    assert signs.tolist()[:2] == [[-1, -1], [-1, 1]]
    assert score_bits(np.array([[2.0, 1.0]]), signs).tolist() == [[3, 1, -1, -3, -3]]


def test_order_is_that_of_an_asymmetric_search() -> None:
    rng = np.random.default_rng(0)
    codes = Codes.from_bits(rng.integers(0, 2, (60, 16)))
    embedding = rng.integers(1, 50, (120, 16)) * rng.choice([-1.0, 1.0], (120, 16))
    order = np.argsort(score_bits(embedding, unpack_signs(codes)), axis=1, kind="stable")
    index = HammingIndex(n_bits=16)
    index.add(codes)
    hits = index.search(Codes.from_bits(embedding > 0), 60, query_embedding=embedding)
    np.testing.assert_array_equal(order, hits.ids)
