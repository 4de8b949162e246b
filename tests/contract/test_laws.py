"""Every hasher × every law. A new hasher is one line in the table."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contract.laws import LAWS, Law
from threadpoolctl import threadpool_limits

from bitfold import hashers
from bitfold.base_set import KMeansBase, RandomBase
from bitfold.embedding import TSNE, LaplacianEigenmaps
from bitfold.hashers import (
    AGH,
    BRE,
    CCAITQ,
    IMH,
    ITQ,
    KLSH,
    KSH,
    LLH,
    LSH,
    MDSH,
    PCAH,
    RMMH,
    SH,
    SKLSH,
    SSH,
    STH,
    Hasher,
    LDAHash,
    PStableLSH,
    SpH,
    SupervisedIMH,
)

HASHERS: list[Hasher] = [
    IMH(12, base=KMeansBase(40, max_iter=3), embedding=TSNE(max_iter=60), random_state=0),
    IMH(5, base=RandomBase(30), embedding=LaplacianEigenmaps(), rotation=None, random_state=0),
    SupervisedIMH(
        base=KMeansBase(60, max_iter=3),
        embedding=TSNE(max_iter=60),
        n_components=16,
        random_state=0,
    ),
    ITQ(12, max_iter=5, random_state=0),
    LSH(40, random_state=0),
    PCAH(12),
    SKLSH(40, random_state=0),
    RMMH(24, random_state=0),
    SH(40),
    PStableLSH(40, random_state=0),
    KSH(12, n_anchors=60, n_samples=120, random_state=0),
    MDSH(40),
    CCAITQ(12, max_iter=5, random_state=0),
    AGH(13, base=KMeansBase(40, max_iter=3), random_state=0),
    LDAHash(12, n_pairs=500, random_state=0),
    BRE(16, n_samples=60, n_anchors=15, max_iter=2, random_state=0),
    SpH(24, max_iter=20, random_state=0),
    KLSH(24, n_anchors=60, n_subset=10, random_state=0),
    STH(12, n_samples=150, random_state=0),
    LLH(12, base=KMeansBase(40, max_iter=3), n_neighbors=5, max_iter=5, random_state=0),
    SSH(12, n_samples=100, random_state=0),
    SSH(12, variant="nonorthogonal", n_samples=100, random_state=0),
    RMMH(24, n_samples=20, random_state=0),
]
"""Small and quick ones: most laws fit them."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small problems on busy cores: threads that wait for each other take ten times as long."""
    with threadpool_limits(1):
        yield


def name(hasher: Hasher) -> str:
    """Name the case in pytest's report."""
    return f"{type(hasher).__name__}-{HASHERS.index(hasher)}"


def tiny() -> list[Hasher]:
    """Return the table for scikit-learn's data of one to five features, which limit some codes."""
    limited = [type(hasher)().n_bits is None for hasher in HASHERS]
    return [
        clone(hasher).set_params(n_bits=None) if short else hasher
        for hasher, short in zip(HASHERS, limited, strict=True)
    ]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("hasher", HASHERS, ids=name)
def test_law(hasher: Hasher, law: Law) -> None:
    law(hasher)


# scikit-learn's data sets are smaller than what the defaults ask for, and we say so.
@pytest.mark.filterwarnings("ignore:.* base points were asked for:UserWarning")
@pytest.mark.filterwarnings("ignore:perplexity .* is out of reach:UserWarning")
@parametrize_with_checks([*(kind() for kind in dict.fromkeys(map(type, HASHERS))), *tiny()])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_every_hasher_is_in_the_table() -> None:
    public = {getattr(hashers, name) for name in hashers.__all__}
    kinds = {kind for kind in public if inspect.isclass(kind) and not inspect.isabstract(kind)}
    assert kinds == set(map(type, HASHERS))
