"""Measure one coarse hasher: the codes of several lengths that begin with it, and weights."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator

import numpy as np

from bitfold import IMH, ITQ, DualHasher, HammingIndex, KMeansBase
from bitfold.datasets import Dataset
from reproduction.kind_and_order.cases import (
    AUTO,
    EXACT,
    N_BITS,
    WEIGHTS,
    Setting,
    find_setting,
)
from reproduction.records import Case
from reproduction.shared_types import AnyArray, ProgressCallback, Result
from reproduction.which_code.asymmetric import score_bits, unpack_signs
from reproduction.which_code.measure import (
    ASYMMETRIC,
    DISTANCE,
    HAMMING,
    measure_quantizer,
    warm_up,
)
from reproduction.which_code.quality import (
    JudgedQueries,
    judge_queries,
    measure_distances,
    measure_hamming,
)

NEEDS_LABELS = ("map", "precision_10", "precision_100")
QUALITY = (*NEEDS_LABELS, "recall_10", "rescored_40")
"""Names of what is measured of a ranking, in percent."""

DESCRIPTION = ("ranking", "coarse_weight")
"""Names of what describes a ranking."""


def measure_setting(case: Case, data: Dataset, progress: ProgressCallback | None = None) -> Result:
    """Return sizes, seconds to fit, and one entry per code length, ranking and weight.

    The first half of the queries is used; the other half is for figures that nothing is tuned on.
    """
    queries = judge_queries(data, slice(0, len(data.queries) // 2))
    n_items, n_features = data.database.shape
    sizes = {"n_items": n_items, "n_features": n_features, "n_queries": len(queries.vectors)}
    if case.method == EXACT:
        quality = measure_quantizer(EXACT, data, queries)["rankings"][DISTANCE]
        return {**sizes, "rankings": [_select({"ranking": DISTANCE, **quality}, data)]}
    setting = find_setting(case)
    warm_up(make_hasher(Setting(setting.n_coarse_bits), case), data, None)
    start, cpu_start = time.perf_counter(), time.process_time()
    hasher = make_hasher(setting, case).fit(data.train, progress=progress)
    return {
        **sizes,
        "fit_seconds": time.perf_counter() - start,
        "fit_cpu_seconds": time.process_time() - cpu_start,
        "n_base_points": len(hasher.coarse_.base_set_),
        "reason": hasher.base_size_reason_,
        "coarse_weight": hasher.coarse_weight,
        "rankings": list(_measure_lengths(hasher, setting, data, queries)),
    }


def make_hasher(setting: Setting, case: Case) -> DualHasher:
    """Return the unfitted hasher of a case."""
    fixed = setting.n_base_points != AUTO
    return DualHasher(
        case.n_bits,
        coarse=IMH(base=KMeansBase(setting.n_base_points)) if fixed else None,
        n_coarse_bits=setting.n_coarse_bits,
        random_state=case.seed,
    )


def replace_fine_part(hasher: DualHasher, X: AnyArray, n_bits: int) -> DualHasher:
    """Return the hasher of another length that has the same coarse part, which is not refitted."""
    fine = ITQ(n_bits - hasher.n_coarse_bits_, random_state=hasher.fine_.random_state).fit(X)
    other = copy.copy(hasher)
    other.n_bits = other.n_bits_ = n_bits
    other.fine_ = fine
    other.fine_scale_ = float(np.sqrt(np.mean(np.square(fine.embed(X), dtype=np.float64))))
    return other


def _measure_lengths(
    hasher: DualHasher, setting: Setting, data: Dataset, queries: JudgedQueries
) -> Iterator[Result]:
    for n_bits in setting.lengths:
        if n_bits != hasher.n_bits_:
            hasher = replace_fine_part(hasher, data.train, n_bits)
        is_weighted = setting.is_weighted and n_bits == N_BITS
        weights = {hasher.coarse_weight, *(WEIGHTS if is_weighted else ())}
        for entry in measure_rankings(hasher, data, queries, sorted(weights)):
            yield {"n_bits": n_bits, **_select(entry, data)}


def measure_rankings(
    hasher: DualHasher, data: Dataset, queries: JudgedQueries, weights: Iterable[float]
) -> Iterator[Result]:
    """Yield the quality by Hamming distance, and asymmetrically with each weight."""
    codes, query_codes = hasher.encode(data.database), hasher.encode(queries.vectors)
    index = HammingIndex(n_bits=codes.n_bits)
    index.add(codes)
    yield {"ranking": HAMMING, **measure_hamming(query_codes, codes, index, queries)}
    signs = unpack_signs(codes)
    for weight in weights:
        weighted = copy.copy(hasher).set_params(coarse_weight=weight)
        yield {
            "ranking": ASYMMETRIC,
            "coarse_weight": weight,
            **_measure_embedding(weighted.embed(queries.vectors), signs, queries),
        }


def _measure_embedding(embedding: AnyArray, signs: AnyArray, queries: JudgedQueries) -> Result:
    return measure_distances(lambda part: score_bits(embedding[part], signs), queries)


def _select(entry: Result, data: Dataset) -> Result:
    """Return what the page shows of a ranking; without labels, that is only recall."""
    names = QUALITY if data.labels is not None else QUALITY[len(NEEDS_LABELS) :]
    return {name: value for name, value in entry.items() if name in (*DESCRIPTION, *names)}
