"""Statistics of codes: what they find, how they tie, and how their bits are distributed."""

from __future__ import annotations

import numpy as np

from bitfold._types import AnyArray, Int64Array
from bitfold.explorer.bit_findings import correlations, find_problems
from bitfold.explorer.items import Items
from bitfold.explorer.measures import (
    NO_VECTORS,
    POOR_TIED,
    count_distinct,
    list_recalls,
    measure_entropy,
    measure_labels,
    measure_ties,
)
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.quality import MeasuredQuality, measure_quality
from bitfold.explorer.statistics_schemas import (
    BitStatistics,
    LargeBucket,
    MeasuredWith,
    SizeClass,
    VerdictOut,
)
from bitfold.explorer.ties import TieSample

MAX_SAMPLED_BUCKETS = 1 << 16
"""Maximum number of buckets from which bit statistics are estimated."""

MIN_LABEL_GAIN = 0.1
"""Codes whose first items have the label of the query hardly more often than by chance are poor:
0 is chance, 1 is always."""

_N_SHOWN_BUCKETS = 6
_N_SHOWN_MEMBERS = 4


def compute_statistics(model: IndexedModel, items: Items) -> BitStatistics:
    """Compute statistics of all buckets, of the bits of a sample of them, and of some queries."""
    sizes, n = model.sizes, model.n_distinct
    share = sizes / sizes.sum()
    chosen = np.linspace(0, n - 1, min(n, MAX_SAMPLED_BUCKETS)).astype(np.int64)
    balance, correlation = correlations(model.bits(chosen), sizes[chosen].astype(np.float64))
    entropy = abs(float(-(share * np.log2(share)).sum()))
    max_entropy = min(float(np.log2(model.n_rows)), float(model.n_bits))
    measured = measure_quality(model, items)
    ties = TieSample(model, items)
    ratio = entropy / max_entropy if max_entropy > 0 else 1.0
    measures = [*list_recalls(measured), measure_labels(items, measured, ties), measure_ties(ties)]
    return BitStatistics(
        n_items=model.n_rows,
        n_bits=model.n_bits,
        n_distinct=n,
        entropy=entropy,
        max_entropy=max_entropy,
        balance=np.round(balance, 4).tolist(),
        bit_entropy=np.round(_entropy_of(balance), 4).tolist(),
        correlation=np.round(correlation, 3).tolist(),
        sizes=_size_classes(sizes),
        largest=_largest(model, items),
        verdict=_judge(measured, ties),
        measures=[*measures, count_distinct(model), measure_entropy(entropy, max_entropy)],
        measured_with=_describe_run(measured),
        findings=find_problems(balance, correlation, float(share.max()), ratio),
    )


def _judge(measured: MeasuredQuality | None, ties: TieSample) -> VerdictOut:
    """Return the verdict: by exact neighbors if they are known; never good otherwise."""
    if measured is not None:
        return VerdictOut(grade=measured.verdict.grade, text=measured.verdict.text)
    if ties.tied is not None and ties.tied > POOR_TIED:
        text = (
            f"Poor top results: for {ties.tied:.0%} of the queries the first ten items all tie, so "
            f"that their order says nothing; use more bits, or DualHasher."
        )
        return VerdictOut(grade="poor", text=text)
    if ties.same_label is None or ties.chance is None:
        return VerdictOut(grade="unknown", text=f"Not judged. {NO_VECTORS}")
    known = (
        f"{ties.same_label:.0%} of the first ten items have the label of the query, "
        f"{ties.chance:.0%} by chance"
    )
    gain = (ties.same_label - ties.chance) / max(1 - ties.chance, 1e-9)
    if gain < MIN_LABEL_GAIN:
        return VerdictOut(grade="poor", text=f"Poor top results: {known}.")
    return VerdictOut(grade="unknown", text=f"Not judged: {known}. {NO_VECTORS}")


def _describe_run(measured: MeasuredQuality | None) -> MeasuredWith | None:
    if measured is None:
        return None
    return MeasuredWith(
        n_queries=measured.n_queries, n_items=measured.n_items, seconds=measured.seconds
    )


def _entropy_of(balance: AnyArray) -> AnyArray:
    """Return the entropy of bits by their fraction of ones."""
    parts = np.stack([balance, 1 - balance])
    logs = np.log2(parts, out=np.zeros_like(parts), where=parts > 0)
    entropy: AnyArray = -(parts * logs).sum(axis=0)
    return entropy


def _size_classes(sizes: Int64Array) -> list[SizeClass]:
    """Group buckets by size: 1, 2 to 3, 4 to 7 and so on."""
    doublings = np.log2(sizes).astype(int)
    n_buckets = np.bincount(doublings)
    n_items = np.bincount(doublings, weights=sizes).astype(int)
    return [
        SizeClass(low=1 << i, high=(2 << i) - 1, n_buckets=int(n), n_items=int(n_items[i]))
        for i, n in enumerate(n_buckets)
    ]


def _largest(model: IndexedModel, items: Items) -> list[LargeBucket]:
    """Return the largest buckets with random members: the first by id may be all of one kind."""
    order = np.argsort(-model.sizes, kind="stable")[:_N_SHOWN_BUCKETS].tolist()
    rng = np.random.default_rng(0)
    return [
        LargeBucket(
            size=int(model.sizes[bucket]),
            code=model.distinct.packed[bucket].tobytes().hex(),
            items=items.describe(rng.permutation(model.members(bucket))[:_N_SHOWN_MEMBERS]),
        )
        for bucket in order
    ]
