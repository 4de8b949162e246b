"""Recipes: hashers as JSON, without anything fitted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import bitfold as bf
from bitfold.errors import FormatError, ParameterError
from bitfold.hashers import LSH, Hasher
from bitfold.hashers.recipe import from_recipe, to_recipe


@pytest.mark.parametrize(
    "hasher",
    [
        LSH(16, random_state=3),
        bf.IMH(32, base=bf.KMeansBase(100), random_state=0),
        bf.DualHasher(64, coarse=bf.IMH(base=bf.RandomBase(50)), fine=LSH(), normalize=True),
    ],
)
def test_a_recipe_gives_an_equal_hasher(hasher: Hasher) -> None:
    recipe = json.loads(json.dumps(to_recipe(hasher)))
    assert repr(from_recipe(recipe)) == repr(hasher)


def test_what_cannot_be_stored() -> None:
    generator = LSH(8, random_state=np.random.default_rng(0))
    assert to_recipe(generator)["params"]["random_state"] is None
    with pytest.raises(ParameterError, match="parameters of LSH"):
        to_recipe(LSH(8, random_state=object()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "recipe",
    [
        None,
        [],
        {},
        {"strategy": "LSH"},
        {"strategy": "Nothing", "params": {}},
        {"strategy": "KMeansBase", "params": {}},
        {"strategy": "LSH", "params": {"unknown": 1}},
        {"strategy": ["LSH"], "params": {}},
    ],
)
def test_damaged_recipes(recipe: Any) -> None:
    with pytest.raises(FormatError, match="hasher"):
        from_recipe(recipe)
