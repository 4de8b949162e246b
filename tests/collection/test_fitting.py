"""The hasher of a collection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.collection.conftest import make_vectors

import bitfold as bf
from bitfold.collection.fitting import choose_candidates_by_order, make_default_hasher
from bitfold.hashers import ITQ, LSH, DualHasher


@pytest.mark.parametrize(
    ("n_features", "keeps_vectors", "n_bits", "kind", "expected"),
    [
        (300, True, None, ITQ, 128),
        (100, True, None, ITQ, 100),
        (63, True, None, LSH, 128),
        (63, True, 32, ITQ, 32),
        (63, True, 64, LSH, 64),
        (300, False, None, DualHasher, 128),
        (10, False, 64, DualHasher, 64),
    ],
)
def test_default(
    n_features: int, keeps_vectors: bool, n_bits: int | None, kind: type, expected: int
) -> None:
    hasher = make_default_hasher(n_features, keeps_vectors, n_bits)
    assert type(hasher) is kind
    assert hasher.get_params()["n_bits"] == expected
    # Without a warning, which the tests would turn into an error.
    X = make_vectors(400, n_features)
    assert hasher.fit(X).n_bits_ == expected


def test_candidates_are_chosen_by_order(tmp_path: Path) -> None:
    X = make_vectors(200, 40)
    dual = DualHasher(32, random_state=0).fit(X)
    weighted = choose_candidates_by_order(dual)
    assert (weighted.embed(X) > 0).tolist() == (dual.embed(X) > 0).tolist()
    assert not np.allclose(weighted.embed(X), dual.embed(X))
    assert choose_candidates_by_order(LSH(8)).get_params()["n_bits"] == 8
    dual.coarse_weight = 2.0
    assert choose_candidates_by_order(dual) is dual
    with bf.Collection.create(tmp_path / "c", X, hasher=dual, keep_vectors=False) as c:
        index = bf.HammingIndex(32)
        index.add(dual.encode(X))
        expected = index.search(dual.encode(X[:3]), query_embedding=dual.embed(X[:3]))
        assert (c.search(X[:3]).distances == expected.distances).all()
