"""What is measured of one code, on scikit-learn's digits."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
import pytest
from numpy.typing import ArrayLike
from reproduction.records import Case
from reproduction.shared_types import AnyArray
from reproduction.which_code.contenders import MEASURE, SIGNS, SignBits
from reproduction.which_code.measure import measure_contender, measure_encoder
from reproduction.which_code.quality import hold_out

from bitfold.datasets import Dataset, digits

QUALITY = {"map", "precision_10", "precision_100", "recall_10", "rescored_40", "rescored_100"}


@pytest.fixture(scope="module")
def data() -> Dataset:
    loaded = digits(40)
    X = loaded.database.astype(np.uint8)
    return replace(loaded, database=X, train=X)


def test_exact_vectors_find_all_neighbors(data: Dataset) -> None:
    result = measure_contender(Case("digits", "Flat", 0, measure=MEASURE), data)
    assert result["n_bytes"] == 64  # of uint8, although faiss has float32
    assert (result["n_items"], result["n_features"], result["n_queries"]) == (1757, 64, 20)
    quality = result["rankings"]["distance"]
    assert set(quality) == {*QUALITY, "search_ms"}
    assert quality["recall_10"] > 99
    assert quality["precision_10"] > 90
    assert quality["search_ms"] > 0


def test_quantizer(data: Dataset) -> None:
    result = measure_contender(Case("digits", "RaBitQ", 0, measure=MEASURE), data)
    assert result["n_bytes"] == 64 // 8 + 8  # and two floats
    quality = result["rankings"]["distance"]
    assert 30 < quality["recall_10"] < quality["rescored_40"] < quality["rescored_100"] <= 100


def test_hasher_has_two_rankings(data: Dataset) -> None:
    result = measure_contender(Case("digits", "ITQ", 64, measure=MEASURE), data)
    assert (result["n_bytes"], set(result["rankings"])) == (8, {"Hamming", "asymmetric"})
    hamming, asymmetric = (result["rankings"][name] for name in ("Hamming", "asymmetric"))
    assert set(hamming) > set(asymmetric) == {*QUALITY, "search_ms"}
    assert asymmetric["recall_10"] > hamming["recall_10"] > 30


def test_sign_bits(data: Dataset) -> None:
    result = measure_contender(Case("digits", SIGNS, 0, measure=MEASURE), data)
    assert result["n_bytes"] == 8
    assert result["rankings"]["Hamming"]["precision_10"] > 60


def test_labels_are_used_only_where_they_are_asked_for(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def fit(self: SignBits, X: AnyArray, y: ArrayLike | None = None) -> SignBits:
        seen.append(y is not None)
        return original(self, X, y)

    original = SignBits.fit
    monkeypatch.setattr(SignBits, "fit", fit)
    monkeypatch.setattr(
        "reproduction.which_code.measure.make_encoder", lambda case: SignBits(center=True)
    )
    for method in ("KSH", "LSH"):
        n_bits = {"KSH": 64, "LSH": 128}[method]
        measure_contender(Case("digits", method, n_bits, measure=MEASURE), data)
    assert seen == [True, True, False, False]


class TwoPartBits(SignBits):
    """Sign bits of which the first 16 are coarse."""

    n_coarse_bits_ = 0

    def fit(self, X: AnyArray, y: ArrayLike | None = None) -> Self:
        self.n_coarse_bits_ = 16
        return super().fit(X, y)


def test_coarse_bits_are_measured_alone(data: Dataset) -> None:
    queries = hold_out(data)
    result = measure_encoder(TwoPartBits(center=True), data, queries)
    first = replace(
        data,
        database=data.database[:, :16],
        queries=data.queries[:, :16],
        train=data.train[:, :16],
    )
    expected = measure_encoder(
        SignBits(center=True), first, replace(queries, vectors=queries.vectors[:, :16])
    )
    coarse = result["rankings"]["coarse bits"]
    assert coarse == {name: expected["rankings"]["Hamming"][name] for name in coarse}
    assert coarse["n_distinct"] < result["rankings"]["Hamming"]["n_distinct"]
