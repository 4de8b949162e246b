"""Search by code: groups of equal codes in the order of a full sort."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explorer.conftest import index_bits

from bitfold.explorer.code_search import BucketSearch, CodeQuery, align_signs, weigh_parts
from bitfold.explorer.item_vectors import ItemVectors
from bitfold.explorer.models import IndexedModel

N, N_BITS = 400, 10


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> IndexedModel:
    folder: Path = tmp_path_factory.mktemp("bits")
    bits = np.random.default_rng(0).integers(0, 2, (N, N_BITS), np.uint8)
    bits[:100] = bits[0]
    return index_bits(folder, bits).model


@settings(max_examples=40, deadline=None)
@given(
    row=st.integers(0, N - 1),
    k=st.integers(1, 60),
    per_group=st.integers(1, 20),
    seed=st.integers(0, 99),
    is_weighted=st.booleans(),
    is_filtered=st.booleans(),
)
def test_groups_equal_a_full_sort(
    model: IndexedModel, row: int, k: int, per_group: int, seed: int, is_weighted: bool,
    is_filtered: bool,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    code = model.codes([row])
    reals = align_signs(rng.random(N_BITS).astype(np.float32), code) if is_weighted else None
    among = np.flatnonzero(rng.random(N) < 0.2) if is_filtered else None
    X = rng.normal(size=(N, 3)).astype(np.float32)
    search = BucketSearch(model, ItemVectors.from_array(X, "euclidean", np.arange(N)))
    groups = search.find(CodeQuery(code, reals, X[row], row), k, per_group, among)
    bits = model.codes(np.arange(N)).unpack()
    differs = bits != bits[row]
    weights = np.ones(N_BITS) if reals is None else np.abs(reals)
    scores = differs @ weights
    searched = np.setdiff1d(np.arange(N) if among is None else among, [row])
    found = [group.hamming if reals is None else group.score or 0.0 for group in groups]
    by_bucket = {int(b): scores[model.members(int(b))[0]] for b in model.bucket_of[searched]}
    assert np.allclose(found, sorted(by_bucket.values())[: len(groups)], atol=1e-4)
    n_listed = 0
    for group in groups:
        members = np.intersect1d(model.members(group.bucket), searched)
        assert group.size == len(members)
        near = members[np.argsort(np.linalg.norm(X[members] - X[row], axis=1), kind="stable")]
        wanted = near[: min(per_group, k - n_listed)]
        assert group.rows.tolist() == wanted.tolist()
        n_listed += len(group.rows)
        assert group.n_tied >= group.size
        if reals is None:
            assert group.n_tied == np.count_nonzero(scores[searched] == group.hamming)
    reachable = sum(min(per_group, np.isin(model.bucket_of[searched], b).sum()) for b in by_bucket)
    assert n_listed == min(k, reachable) or len(groups) == k


def test_without_vectors_items_of_a_bucket_are_in_the_order_of_rows(model: IndexedModel) -> None:
    query = CodeQuery(model.codes([0]), None, None, 0)
    [group] = BucketSearch(model, None).find(query, 5, 5, None)
    assert group.rows.tolist() == [1, 2, 3, 4, 5] and group.distances is None
    assert group.size >= 99


def test_a_weight_changes_only_the_coarse_part() -> None:
    reals = np.array([1.0, -2.0, 3.0], np.float32)
    assert weigh_parts(reals, 2, 3.0, 1.5).tolist() == [2.0, -4.0, 3.0]
