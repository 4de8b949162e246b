"""Plans of radius lookup: which parts are probed how far, and what that costs.

The costs follow from a sample of the stored codes, because real codes are crowded: a bucket of
learned codes can have a hundred times as many codes as one of random codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from bitfold._kernels.hamming import has_vector_popcount
from bitfold._types import Float64Array, UInt32Array
from bitfold.search.parts import CodeSample, Parts, choose_parts

# Nanoseconds on one core, measured on 1,000,000 codes; only the ratios matter.
_HAS_VECTOR_POPCOUNT = has_vector_popcount()
_NS_PER_SCANNED_CODE = 0.03 if _HAS_VECTOR_POPCOUNT else 0.1
_NS_PER_SCANNED_WORD = 0.06 if _HAS_VECTOR_POPCOUNT else 0.27
_NS_PER_PROBE = 25.0
_NS_PER_CANDIDATE = 0.45 if _HAS_VECTOR_POPCOUNT else 0.7
_NS_PER_READ_CODE = 80.0 if _HAS_VECTOR_POPCOUNT else 8.0
_NS_PER_FOUND_CODE = 0.0 if _HAS_VECTOR_POPCOUNT else 25.0  # more than in a scan
_NS_PER_SORTED_CODE = 30.0
_NS_PER_BUCKET = 1.0

_NS_TO_PLAN = 2e7

MAX_PART_BITS = 24
"""Maximum number of bits per part; the table of a part has 2**bits buckets."""

_MAX_PARTS = 64

_MAX_SHARE_OF_SCAN = 0.8
"""A query scans if the candidates are expected to take longer than this share of the scan."""

_MIN_CODES_TO_SAMPLE = 4096
"""Fewer codes are scanned in less time than it takes to draw a sample."""

_N_MEASURED = 4
"""Number of plans that are compared by the sample; the others look worse even for random codes."""


class Plan(NamedTuple):
    """How a lookup within one radius uses parts.

    Parameters
    ----------
    parts
        The bits of each part.
    radii
        Radius of each part; -1 if it is not probed.
    ns
        Expected nanoseconds per query.
    max_codes
        Number of codes in the probed buckets beyond which a scan is cheaper.
    """

    parts: Parts
    radii: tuple[int, ...]
    ns: float
    max_codes: int


class ScanPlan(NamedTuple):
    """How all codes are scanned.

    Parameters
    ----------
    n_words
        Number of words that are read of every code; the others are read for few codes.
    ns
        Expected nanoseconds per query.
    """

    n_words: int
    ns: float


def plan_scan(sample: CodeSample, radius: int) -> ScanPlan:
    """Return the cheapest scan."""
    plans = [scan_fully(sample.n_words, sample.n_codes)]
    for n_words in range(1, sample.n_words):
        share = sample.share_within(radius, 0, n_words)
        ns = scan_fully(n_words, 1).ns + _NS_PER_READ_CODE * share
        plans.append(ScanPlan(n_words, ns * sample.n_codes))
    return min(plans, key=lambda plan: plan.ns)


def scan_fully(n_words: int, n_codes: int) -> ScanPlan:
    """Return the scan that reads all words."""
    ns = _NS_PER_SCANNED_CODE + _NS_PER_SCANNED_WORD * n_words
    return ScanPlan(n_words, ns * n_codes)


def needs_sample(n_words: int, n_codes: int) -> bool:
    """Return whether a sample can make a scan faster."""
    return n_words > 1 and n_codes >= _MIN_CODES_TO_SAMPLE


def plan_lookup(sample: CodeSample, radius: int, max_bytes: float) -> Plan | None:
    """Return the cheapest plan whose tables fit into ``max_bytes``; None if a scan is cheaper."""
    best, best_ns = None, plan_scan(sample, radius).ns
    shapes = [
        (_estimate_uniform(sample.n_codes, n_parts, width, radius), n_parts, width)
        for n_parts, width in list_shapes(sample, radius, max_bytes)
    ]
    for least_ns, n_parts, width in sorted(shapes)[:_N_MEASURED]:
        if least_ns >= best_ns:
            break
        plan = rate_parts(sample, choose_parts(sample.differences, n_parts, width), radius)
        if plan.ns < best_ns:
            best, best_ns = drop_unused(plan), plan.ns
    return best


def rate_parts(sample: CodeSample, parts: Parts, radius: int) -> Plan:
    """Return the best radii for some parts, and what a lookup then costs."""
    shares = sample.measure(parts)
    per_candidate = _NS_PER_CANDIDATE
    if sample.n_words > 1:
        per_candidate += _NS_PER_READ_CODE * sample.share_within(radius, 0, 1)
    n_probes = np.array(
        [[count_flips(len(part), r) for r in range(shares.shape[2])] for part in parts]
    )
    costs = _NS_PER_PROBE * n_probes + per_candidate * sample.n_codes * shares
    radii = choose_radii(costs.mean(axis=0), [len(part) for part in parts], radius)
    probed = [p for p, r in enumerate(radii) if r >= 0]
    reaches = [radii[p] for p in probed]
    scan_ns = plan_scan(sample, radius).ns
    # A query whose buckets are crowded scans, after it has looked up their sizes.
    fixed = _NS_PER_PROBE * float(n_probes[probed, reaches].sum())
    n_found = sample.n_codes * sample.share_within(radius, 0, sample.n_words)
    found_ns = costs[:, probed, reaches].sum(axis=1) + _NS_PER_FOUND_CODE * n_found
    per_target = np.minimum(found_ns, fixed / 4 + scan_ns)
    max_codes = max(0, int(_MAX_SHARE_OF_SCAN * (scan_ns - fixed) / per_candidate))
    return Plan(parts, radii, float(per_target.mean()), max_codes)


def choose_radii(costs: Float64Array, widths: list[int], radius: int) -> tuple[int, ...]:
    """Distribute a radius over parts: a code that is farther in every part is farther in total.

    If part p is probed within r_p, the other codes differ in at least r_p + 1 of its bits. So the
    sum of r_p + 1 must be more than the radius. Every unit goes where it adds least to ``costs``,
    one row per part, one column per radius.
    """
    radii = [-1] * len(costs)
    for _ in range(radius + 1):
        steps = [
            costs[p, r + 1] - (costs[p, r] if r >= 0 else 0.0) if r < widths[p] else np.inf
            for p, r in enumerate(radii)
        ]
        if np.min(steps) == np.inf:
            break  # some part is probed at all its values
        radii[int(np.argmin(steps))] += 1
    return tuple(radii)


def count_table_bytes(n_codes: int, widths: list[int]) -> int:
    """Return the size of the tables of parts."""
    return sum(12 * n_codes + 4 * (2**width + 1) for width in widths)


def estimate_build_ns(n_codes: int, parts: Parts) -> float:
    """Return the expected nanoseconds to build the tables of parts."""
    return float(
        sum(_NS_PER_SORTED_CODE * n_codes + _NS_PER_BUCKET * 2 ** len(part) for part in parts)
    )


def estimate_least_build_ns(n_words: int, n_codes: int) -> float:
    """Return the nanoseconds of scans before tables can pay off."""
    return _NS_TO_PLAN * n_words + 2 * _NS_PER_SORTED_CODE * n_codes


@lru_cache(maxsize=4096)
def count_flips(width: int, radius: int) -> int:
    """Return the number of values within a radius of one value of a part."""
    return sum(comb(width, ones) for ones in range(radius + 1))


@lru_cache(maxsize=64)
def list_flips(width: int, radius: int) -> UInt32Array:
    """Return all integers of ``width`` bits with at most ``radius`` ones, ascending."""
    flips, ones = np.zeros(1, np.uint32), np.zeros(1, np.int64)
    for bit in range(width if radius > 0 else 0):
        more = ones < radius
        flips = np.concatenate([flips, flips[more] | np.uint32(1 << bit)])
        ones = np.concatenate([ones, ones[more] + 1])
    return flips if radius >= 0 else flips[:0]


def list_shapes(sample: CodeSample, radius: int, max_bytes: float) -> Iterator[tuple[int, int]]:
    """Yield the numbers of parts whose tables fit, each with the number of bits per part."""
    # More buckets than codes cost memory and save nothing.
    max_width = min(MAX_PART_BITS, sample.n_codes.bit_length() + 1)
    for n_parts in range(1, min(radius + 1, sample.n_used_bits, _MAX_PARTS) + 1):
        width = min(sample.n_used_bits // n_parts, max_width)
        while width and count_table_bytes(sample.n_codes, [width] * n_parts) > max_bytes:
            width -= 1
        if width:
            yield n_parts, width


def _estimate_uniform(n_codes: int, n_parts: int, width: int, radius: int) -> float:
    """Return the nanoseconds per query if all values of a part were equally frequent."""
    a, b = divmod(radius, n_parts)
    ns = 0.0
    for part in range(n_parts):
        n_probes = count_flips(width, min(a if part <= b else a - 1, width))
        ns += n_probes * (_NS_PER_PROBE + _NS_PER_CANDIDATE * n_codes / 2**width)
    return ns


def drop_unused(plan: Plan) -> Plan:
    """Return the plan without parts that are not probed."""
    used = [p for p, r in enumerate(plan.radii) if r >= 0]
    parts, radii = tuple(plan.parts[p] for p in used), tuple(plan.radii[p] for p in used)
    return plan._replace(parts=parts, radii=radii)
