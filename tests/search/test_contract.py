"""Vectors in place of codes: the error says how to encode them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bitfold as bf
from bitfold.errors import ParameterTypeError
from bitfold.stores import FaissStore

VECTORS = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


@pytest.mark.parametrize("method", ["add", "search", "within"])
@pytest.mark.parametrize(
    ("vectors", "kind"),
    [
        (VECTORS, "ndarray of float32"),
        (VECTORS.tolist(), "list"),
        (pd.DataFrame(VECTORS), "DataFrame"),
    ],
    ids=["array", "list", "table"],
)
def test_vectors_must_be_encoded_first(method: str, vectors: Any, kind: str) -> None:
    for name, index in ("index", bf.HammingIndex(4)), ("store", FaissStore.create(n_bits=4)):
        with pytest.raises(ParameterTypeError) as caught:
            getattr(index, method)(vectors)
        argument = "X" if method == "add" else "Q"
        hint = f"got {kind}; encode them first: {name}.{method}(hasher.encode({argument}))."
        assert str(caught.value).endswith(hint)


@pytest.mark.parametrize(
    ("bits", "hint"),
    [
        (np.zeros((1, 1), np.uint8), "Codes(packed, n_bits)"),
        (np.zeros((1, 4), bool), "Codes.from_bits(bits)"),
    ],
)
def test_bits_may_be_converted(bits: Any, hint: str) -> None:
    with pytest.raises(ParameterTypeError) as caught:
        bf.HammingIndex(4).search(bits)
    assert hint in str(caught.value)
    assert "index.search(hasher.encode(Q))" in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, "codes.npy"])
def test_other_values_get_no_hint(value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(ParameterTypeError, match=rf"bitfold\.Codes, got {kind}\.$"):
        bf.HammingIndex(4).search(value)
