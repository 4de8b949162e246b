"""The codes that are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reproduction.records import Case
from reproduction.which_code.contenders import (
    CONTENDERS,
    MEASURE,
    SIGNS,
    Contender,
    SignBits,
    find_contender,
    list_cases,
    make_encoder,
)

from bitfold import hashers

X = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)


def test_sign_bits_are_signs() -> None:
    assert SignBits(center=False).fit(X).encode(X).unpack().tolist() == [[1, 0], [1, 1]]
    centered = SignBits(center=True).fit(X)
    assert centered.encode(X).unpack().tolist() == [[0, 0], [1, 1]]
    assert centered.embed(X).tolist() == [[-1, -3], [1, 3]]


def test_sign_bits_of_text_are_not_centered() -> None:
    centered = {data: make_encoder(Case(data, SIGNS, 0)) for data in ("text", "mnist")}
    assert [getattr(encoder, "center", None) for encoder in centered.values()] == [False, True]


def test_titles() -> None:
    titles = [contender.title for contender in CONTENDERS]
    assert {"exact vectors", "DualHasher(128)", SIGNS, "faiss PQ16x8"} <= set(titles)
    assert len(set(titles)) == len(titles)


def test_hashers_run_with_several_seeds() -> None:
    cases = list_cases(("text",), 2)
    assert all(case.measure == MEASURE for case in cases)
    seeds = {name: [c.seed for c in cases if c.method == name] for name in ("LSH", "RaBitQ")}
    assert seeds == {"LSH": [0, 1], "RaBitQ": [0]}


def test_only_hashers_that_exist_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def list_methods() -> set[str]:
        return {case.method for case in list_cases(("text",), 1)}

    class Dual(hashers.LSH):
        pass

    monkeypatch.setattr(hashers, "DualHasher", Dual, raising=False)
    assert "DualHasher" in list_methods()
    monkeypatch.delattr(hashers, "DualHasher")
    assert "DualHasher" not in list_methods()


@pytest.mark.parametrize("contender", [c for c in CONTENDERS if c.is_hasher and c.is_available])
def test_hashers_have_length_and_seed_of_the_case(contender: Contender) -> None:
    case = Case("text", contender.method, contender.n_bits, 3)
    encoder: Any = make_encoder(case)
    parameters = encoder.get_params()
    assert (parameters["n_bits"], parameters["random_state"]) == (contender.n_bits, 3)
    assert find_contender(case) is contender
