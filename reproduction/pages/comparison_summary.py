"""What the comparison shows: one result per method, and sentences about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reproduction.experiments.methods import METHODS
from reproduction.experiments.retrieval import was_busy
from reproduction.shared_types import Record

SHOWN_LENGTH = 64
"""Code length that methods are ranked at."""

SHORTEST, LONGEST = 16, 128
"""Code lengths between which a method is said to rise or fall."""

FAST_SECONDS = 10
"""Seconds within which a fit is called fast."""


class MethodResult(NamedTuple):
    """MAP of a method in percent and its seconds to fit, which may be unknown."""

    method: str
    n_bits: int
    map: float
    fit_seconds: float | None

    @property
    def uses_labels(self) -> bool:
        """Whether the method learns from labels."""
        return METHODS[self.method].uses_labels

    @property
    def title(self) -> str:
        """Name of the method, with the length of its codes if it is another one."""
        if self.n_bits == SHOWN_LENGTH:
            return self.method
        return f"{self.method} ({self.n_bits} bits)"


class Ranking(NamedTuple):
    """Results of methods without and with labels, each in order of descending MAP."""

    unlabeled: list[MethodResult]
    labeled: list[MethodResult]

    @property
    def results(self) -> list[MethodResult]:
        """All results in order of descending MAP."""
        return sorted([*self.unlabeled, *self.labeled], key=lambda result: -result.map)

    @property
    def untimed(self) -> list[MethodResult]:
        """Results without times."""
        return [result for result in self.results if result.fit_seconds is None]

    @property
    def is_timed(self) -> bool:
        """Whether most results have times, so that these are worth a panel."""
        return 2 * len(self.untimed) < len(self.results)


def rank_methods(records: Sequence[Record], data: str) -> Ranking:
    """Rank the methods on a data set, each with its longest codes of at most ``SHOWN_LENGTH``."""
    longest: dict[str, MethodResult] = {}
    for result in _list_results(records, data):
        known = longest.get(result.method)
        if result.n_bits <= SHOWN_LENGTH and (known is None or known.n_bits < result.n_bits):
            longest[result.method] = result
    ordered = sorted(longest.values(), key=lambda result: -result.map)
    return Ranking(
        [result for result in ordered if not result.uses_labels],
        [result for result in ordered if result.uses_labels],
    )


def list_best(results: Sequence[MethodResult]) -> list[MethodResult]:
    """Return the first of ranked results, and those whose MAP reads the same."""
    return [result for result in results if _round(result.map) == _round(results[0].map)]


def list_untimed(records: Sequence[Record]) -> list[str]:
    """Return the methods that have codes without times, because the machine was busy."""
    untimed = (record["case"]["method"] for record in records if was_busy(record))
    return list(dict.fromkeys(untimed))


def describe_results(records: Sequence[Record], data: str, name: str) -> str:
    """Return what the records of a data set say, in a few sentences."""
    unlabeled, labeled = rank_methods(records, data)
    sentences = [
        *_describe_unlabeled(unlabeled, name),
        *_describe_labeled(labeled, unlabeled),
        *_describe_fast(unlabeled),
        *_describe_lengths(_list_results(records, data)),
    ]
    return " ".join(sentences)


def _list_results(records: Sequence[Record], data: str) -> list[MethodResult]:
    return [
        MethodResult(
            record["case"]["method"],
            record["case"]["n_bits"],
            record["result"]["map"],
            record["result"].get("fit_seconds"),
        )
        for record in records
        if record["case"]["data"] == data and "map" in record["result"]
    ]


def _describe_unlabeled(results: list[MethodResult], name: str) -> list[str]:
    """Name the best method without labels, and the best of another kind."""
    if not results:
        return []
    best = results[0]
    others = [result for result in results if _find_kind(result) != _find_kind(best)]
    second = f"; the best of another kind is {_format_result(others[0])}" if others else ""
    return [
        f"Without labels, {best.title} has the highest MAP of {SHOWN_LENGTH}-bit codes on {name}, "
        f"{best.map:.1f} percent{second}."
    ]


def _describe_labeled(labeled: list[MethodResult], unlabeled: list[MethodResult]) -> list[str]:
    """Name the best method with labels, and say how many exceed the best without."""
    if not labeled:
        return []
    best = list_best(labeled)
    names = " and ".join(result.title for result in best)
    verb = "has" if len(best) == 1 else "have"
    sentence = f"With labels, {names} {verb} the highest, {labeled[0].map:.1f}"
    if not unlabeled:
        return [f"{sentence}."]
    n_above = sum(_round(result.map) > _round(unlabeled[0].map) for result in labeled)
    verb = "exceeds" if n_above == 1 else "exceed"
    return [
        f"{sentence}; {n_above or 'none'} of the {len(labeled)} methods that learn from labels "
        f"{verb} {unlabeled[0].title}."
    ]


def _describe_fast(results: list[MethodResult]) -> list[str]:
    """Name the best method without labels that fits fast, unless it is the best of all.

    Nothing is said if the time of a better one is unknown.
    """
    for result in results:
        if result.fit_seconds is None:
            return []
        if result.fit_seconds < FAST_SECONDS:
            break
    else:
        return []
    if result == results[0]:
        return []
    return [
        f"Of the methods without labels that fit in less than {FAST_SECONDS} seconds, "
        f"{_format_result(result)} has the highest."
    ]


def _describe_lengths(results: list[MethodResult]) -> list[str]:
    """Say for how many methods longer codes are worse."""
    by_length = {(result.method, result.n_bits): result.map for result in results}
    both = [m for m, n in by_length if n == SHORTEST and (m, LONGEST) in by_length]
    falling = [m for m in both if by_length[m, LONGEST] < by_length[m, SHORTEST]]
    if not falling:
        return []
    return [
        f"Longer codes are not always better: from {SHORTEST} to {LONGEST} bits, MAP falls for "
        f"{len(falling)} of {len(both)} methods ({', '.join(falling)})."
    ]


def _find_kind(result: MethodResult) -> str:
    """Return the first part of a name: IMH-tSNE and IMH-LE are of one kind.

    So is DualHasher, whose first bits are those of IMH.
    """
    return "IMH" if result.method == "DualHasher" else result.method.partition("-")[0]


def _round(value: float) -> float:
    """Round as in the text and the tables: what reads the same counts as the same."""
    return round(value, 1)


def _format_result(result: MethodResult) -> str:
    return f"{result.title} ({result.map:.1f})"
