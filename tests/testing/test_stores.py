"""The checks of stores: every store and the index pass them, and broken stores fail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import bitfold as bf
from bitfold.search import Hits
from bitfold.stores import FaissStore
from bitfold.testing import INDEX_CHECKS, check_store


@pytest.mark.parametrize("check", INDEX_CHECKS, ids=lambda check: check.__name__)
def test_hamming_index_passes(check: Callable[..., None]) -> None:
    check(bf.HammingIndex)


class TiesByReversedId(FaissStore):
    def _search_exact(self, codes: bf.Codes, k: int, conditions: Any) -> Hits:
        found = super()._search_exact(codes, k, conditions)
        order = np.lexsort((-found.ids, found.distances), axis=1)
        return Hits(
            np.take_along_axis(found.ids, order, 1), np.take_along_axis(found.distances, order, 1)
        )


class StrictRadius(FaissStore):
    def _search_within(self, codes: bf.Codes, radius: int, conditions: Any) -> Any:
        return super()._search_within(codes, radius - 1, conditions)


class ReusedIds(FaissStore):
    def remove(self, ids: Any) -> None:
        super().remove(ids)
        self._next_id = max([-1, *self._binary.ids.tolist()]) + 1


class ForgottenDigest(FaissStore):
    def add_batches(self, batches: Any, progress: Any = None) -> None:
        super().add_batches(batches, progress)
        self._model_digest = None


class MiscountedTies(FaissStore):
    def _search_exact(self, codes: bf.Codes, k: int, conditions: Any) -> Hits:
        found = super()._search_exact(codes, k, conditions)
        return found._replace(n_tied=np.ones(len(codes), np.int64))


class IgnoredEmbedding(FaissStore):
    def search(self, codes: bf.Codes, k: int = 10, **options: Any) -> Hits:
        return super().search(codes, k, **options | {"query_embedding": None})


class FewCandidates(FaissStore):
    def search(self, codes: bf.Codes, k: int = 10, **options: Any) -> Hits:
        return super().search(codes, k, n_candidates=1, **options)


@pytest.mark.parametrize(
    ("store", "check"),
    [
        (MiscountedTies, "check_results_match_hamming_index"),
        (IgnoredEmbedding, "check_query_embedding"),
        (FewCandidates, "check_query_embedding"),
        (TiesByReversedId, "check_results_match_brute_force"),
        (StrictRadius, "check_results_match_brute_force"),
        (ReusedIds, "check_ids_are_not_reused"),
        (ForgottenDigest, "check_model_digest"),
    ],
)
def test_broken_store_fails(store: type[FaissStore], check: str) -> None:
    with pytest.raises(AssertionError, match=f"^{check} failed: "):
        check_store(store.create)


def test_invalid_factory_fails() -> None:
    with pytest.raises(AssertionError, match=r"check_.* failed: .*nonsense"):
        check_store(partial(FaissStore.create, factory="nonsense"))


def test_checks_do_not_import_pytest() -> None:
    code = "import sys, bitfold.testing.stores; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
