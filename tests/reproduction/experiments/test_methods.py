"""The methods by name: those with the settings of the paper's authors next to bitfold's."""

from __future__ import annotations

import pytest
from reproduction.experiments.base_set_cache import CachedKMeansBase, CachedKMedoidsBase
from reproduction.experiments.methods import (
    AS_PUBLISHED,
    COMPARED_METHODS,
    EMBEDDINGS,
    METHODS,
    PUBLISHED_METHODS,
    make_hasher,
    published_name,
)

from bitfold.base_set import RandomBase
from bitfold.hashers import AGH, IMH, SupervisedIMH

PUBLISHED = [name for name in METHODS if name.endswith(AS_PUBLISHED)]


def test_every_method_of_the_paper_with_a_base_set_has_a_published_form() -> None:
    names = {f"IMH-{name}" for name in EMBEDDINGS}
    names |= {"IMH-tSNE-ITQ", "IMH-LE-ITQ", "IMHs", "IMHs-ITQ", "AGH"}
    assert {published_name(name) for name in names} == set(PUBLISHED)
    assert set(PUBLISHED_METHODS) <= set(PUBLISHED)
    assert not set(PUBLISHED) & set(COMPARED_METHODS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_methods_have_the_settings_of_the_authors(name: str) -> None:
    hasher = make_hasher(name, 9, 3, {"n_base_points": 50, "n_neighbors": 2}, "digits")
    assert isinstance(hasher, (IMH, AGH))
    assert (hasher.bandwidth, hasher.normalize, hasher.n_neighbors) == ("kth_distance", True, 2)
    assert hasher.random_state == 3
    if isinstance(hasher, IMH):
        assert hasher.rotation == ("itq" if "ITQ" in name else None)
    if isinstance(hasher, SupervisedIMH):
        assert isinstance(hasher.base, RandomBase)
    else:
        assert isinstance(hasher.base, CachedKMeansBase)
        assert (hasher.base.n_base_points, hasher.base.max_iter) == (50, 10)


def test_base_sets_of_unit_rows_are_cached_apart() -> None:
    raw, unit = (
        make_hasher(name, 16, 0, {"base": "kmedoids"}, "digits").get_params()["base"]
        for name in ("AGH", published_name("AGH"))
    )
    assert isinstance(unit, CachedKMedoidsBase)
    assert raw.dataset != unit.dataset
