"""The verdict: one sentence about the first hits of a search, with what to do next."""

from __future__ import annotations

from typing import NamedTuple

from bitfold.evaluation.top_quality import TopQuality

KEPT = 0.95
"""Good codes keep this share of what the exact vectors' P@10 has above chance."""

GOOD_RECALL = 0.9
"""Good codes without labels have this recall@10, at least after rescoring 100 candidates."""

POOR_RECALL = 0.5
"""Codes with less than this, after rescoring 100 candidates, are poor."""

MARGIN = 0.05
"""A baseline that is better by this much should be used instead."""


class References(NamedTuple):
    """What the first hits of codes are compared with.

    Parameters
    ----------
    exact, chance
        Quality of the exact vectors, and of a random order.
    baseline
        Quality of a simple method with codes of the same length.
    baseline_name
        Name of that method.

    Examples
    --------
    >>> quality = TopQuality(1.0, 1.0, 1.0)
    >>> References(quality, quality, quality, "ITQ").baseline_name
    'ITQ'
    """

    exact: TopQuality
    chance: TopQuality
    baseline: TopQuality
    baseline_name: str


class Verdict(NamedTuple):
    """A judgment of codes.

    Parameters
    ----------
    grade
        "good", "fair" or "poor".
    text
        One sentence with the reason, and what to do.

    Examples
    --------
    >>> Verdict("good", "Good: recall@10 is 0.95 without rescoring.").grade
    'good'
    """

    grade: str
    text: str


def judge(
    quality: TopQuality, references: References, *, compression: float, method: str = ""
) -> Verdict:
    """Judge the first hits of codes.

    With labels, codes are good if P@10 keeps 95 percent of what the exact vectors have above
    chance. Without labels, they are good if recall@10 is at least 0.9, possibly after rescoring
    100 candidates, and poor if it is less than 0.5 even then. Codes that are not good are poor if
    the baseline is better by 0.05.

    Parameters
    ----------
    quality
        Quality of the codes.
    references
        What they are compared with.
    compression
        Bytes of a vector divided by bytes of a code.
    method
        Name of the method that made the codes, which is not advised again.

    Returns
    -------
    The grade and the sentence.

    Examples
    --------
    >>> exact, chance = TopQuality(1.0, 1.0, 1.0), TopQuality(0.01, 0.04, 0.1)
    >>> references = References(exact, chance, TopQuality(0.26, 0.47, 0.61), "ITQ")
    >>> judge(TopQuality(0.04, 0.12, 0.22), references, compression=64).grade
    'poor'
    """
    size = f"at 1/{compression:.0f} of the bytes"
    if quality.precision_10 is None:
        return _judge_recall(quality, references, size, method)
    return _judge_precision(quality, references, size, method)


def _judge_precision(
    quality: TopQuality, references: References, size: str, method: str
) -> Verdict:
    """Judge by the relevance of the first ten hits."""
    own, exact, chance, baseline = (
        each.precision_10 or 0.0
        for each in (quality, references.exact, references.chance, references.baseline)
    )
    figures = f"P@10 {own:.2f} against {exact:.2f}"
    if own - chance >= KEPT * (exact - chance):
        relation = "more relevant than" if own > exact + MARGIN else "as relevant as"
        text = f"Good: the first ten are {relation} with the exact vectors ({figures}) {size}."
        return Verdict("good", text)
    if baseline > own + MARGIN:
        return _prefer_baseline("P@10", own, baseline, references.baseline_name, method)
    advice = "use more bits"
    if quality.recall_10_from_100 >= GOOD_RECALL:
        advice = "rescore 100 candidates by the original vectors, or use more bits"
    text = f"Fair: the first ten are less relevant than with the exact vectors ({figures}) {size}"
    return Verdict("fair", f"{text}; {advice}.")


def _judge_recall(quality: TopQuality, references: References, size: str, method: str) -> Verdict:
    """Judge by the exact neighbors that are found."""
    own, rescored = quality.recall_10, quality.recall_10_from_100
    if own >= GOOD_RECALL:
        return Verdict("good", f"Good: recall@10 is {own:.2f} without rescoring, {size}.")
    if rescored >= GOOD_RECALL:
        text = (
            f"Good if you rescore: with 100 candidates rescored by the original vectors, recall@10 "
            f"is {rescored:.2f}, without rescoring {own:.2f}, {size}."
        )
        return Verdict("good", text)
    if references.baseline.recall_10 > own + MARGIN:
        other = references.baseline.recall_10
        return _prefer_baseline("recall@10", own, other, references.baseline_name, method)
    figures = f"recall@10 is {own:.2f}, and {rescored:.2f} with 100 rescored candidates"
    if rescored < POOR_RECALL:
        return Verdict("poor", f"Poor top results: {figures}; use more bits.")
    return Verdict("fair", f"Fair: {figures}, {size}; use more bits, or rescore more candidates.")


def _prefer_baseline(measure: str, own: float, other: float, name: str, method: str) -> Verdict:
    """Recommend the baseline, and also DualHasher unless it made the codes."""
    use = name if method == "DualHasher" else f"{name}, or try DualHasher"
    text = f"{measure} is {own:.2f}, {name} of the same length has {other:.2f}; use {use}."
    return Verdict("poor", f"Poor top results: {text}")
