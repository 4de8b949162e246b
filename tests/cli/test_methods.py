"""Hashers from the options of a command."""

from __future__ import annotations

import pytest
import typer

from bitfold import hashers
from bitfold.base_set import RandomBase
from bitfold.cli._methods import METHODS, HasherSpec, find_method, uses_labels


def test_every_method_has_a_name() -> None:
    assert METHODS["itq"] is hashers.ITQ
    assert METHODS["supervisedimh"] is hashers.SupervisedIMH
    assert "hasher" not in METHODS
    assert find_method("SpH") is hashers.SpH


def test_methods_that_learn_from_labels() -> None:
    assert uses_labels(hashers.KSH)
    assert not uses_labels(hashers.ITQ)


def test_default_depends_on_labels() -> None:
    assert type(HasherSpec().build(labeled=False)) is hashers.DualHasher
    assert type(HasherSpec().build(labeled=True)) is hashers.SupervisedIMH


def test_settings() -> None:
    settings = ("rotation=None", "base=random", "base__n_base_points=70", "n_neighbors=3")
    hasher = HasherSpec("imh", 24, settings, seed=5).build(labeled=False)
    assert isinstance(hasher, hashers.IMH)
    assert isinstance(hasher.base, RandomBase)
    params = hasher.get_params()
    assert (params["n_bits"], params["rotation"], params["random_state"]) == (24, None, 5)
    assert (params["base__n_base_points"], params["n_neighbors"]) == (70, 3)


def test_settings_of_the_parts_of_a_hasher() -> None:
    settings = ("coarse=agh", "coarse__n_layers=2", "fine__max_iter=3", "coarse_weight=2")
    hasher = HasherSpec("dualhasher", 24, settings).build(labeled=False)
    assert isinstance(hasher, hashers.DualHasher)
    assert isinstance(hasher.coarse, hashers.AGH)
    assert isinstance(hasher.fine, hashers.ITQ)
    assert (hasher.coarse.n_layers, hasher.fine.max_iter, hasher.coarse_weight) == (2, 3, 2)


@pytest.mark.parametrize(
    ("method", "setting", "pattern"),
    [
        ("none", "n_bits=8", "'none'"),
        ("itq", "n_bits", "NAME=VALUE"),
        ("itq", "bits=8", "'bits'"),
        ("itq", "base__n_base_points=3", "'base'"),
        ("imh", "embedding__color=1", "'color'"),
    ],
)
def test_unknown_names(method: str, setting: str, pattern: str) -> None:
    with pytest.raises(typer.BadParameter, match=pattern):
        HasherSpec(method, None, (setting,)).build(labeled=False)


@pytest.mark.parametrize("name", METHODS)
def test_labels_need_a_method_that_uses_them(name: str) -> None:
    kind = METHODS[name]
    if uses_labels(kind):
        assert type(HasherSpec(name).build(labeled=True)) is kind
    else:
        with pytest.raises(typer.BadParameter, match=f"{kind.__name__} .*labels"):
            HasherSpec(name).build(labeled=True)


def test_cosine_scales_rows() -> None:
    for name in METHODS:
        labeled = uses_labels(METHODS[name])
        assert HasherSpec(name, cosine=True).build(labeled=labeled).normalize is True
        assert HasherSpec(name).build(labeled=labeled).normalize is False
