"""Comparisons of records with each other and with the paper's values.

If the records of a comparison are missing, it is neither true nor false. Code lengths that a method
cannot produce are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.shared_types import Options, Record

CODE_LENGTHS = (16, 32, 48, 64, 96, 128)
"""The paper's code lengths."""


class MissingRecordsError(LookupError):
    """A claim needs cases that were not run."""


class NoSuchCodesError(LookupError):
    """A claim needs codes of a length that a method cannot produce."""


class Means:
    """Means over seeds by data set, method, code length and settings."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)

    def __call__(self, measure: str, data: str, method: str, n_bits: int, **options: Any) -> float:
        """Return the mean of a measure; settings that are not given may have any value."""
        results = [
            r["result"]
            for r in self.records
            if (r["case"]["data"], r["case"]["method"], r["case"]["n_bits"])
            == (data, method, n_bits)
            and options.items() <= dict(r["case"]["options"]).items()
        ]
        values = [result[measure] for result in results if measure in result]
        if values:
            return float(np.mean(values))
        text = f"{measure} of {method}, {n_bits} bits on {data}"
        if any("error" in result for result in results):
            raise NoSuchCodesError(text)
        raise MissingRecordsError(text)


class Check(NamedTuple):
    """One comparison of a claim, with its numbers as text."""

    text: str
    holds: bool


Checks = Callable[[Means], Iterable[Check]]
"""Makes the comparisons of a claim."""


class Setting(NamedTuple):
    """A method at a code length, with settings."""

    method: str
    n_bits: int
    options: Options = ()

    def find_mean(self, means: Means, measure: str, data: str) -> float:
        """Return the mean of a measure over the seeds."""
        return means(measure, data, self.method, self.n_bits, **dict(self.options))

    def __str__(self) -> str:
        settings = (f", {reported.SYMBOLS.get(k, k)} = {value}" for k, value in self.options)
        return self.method + "".join(settings)


def check_descending(means: Means, measure: str, data: str, *settings: Setting) -> Iterator[Check]:
    """Compare each setting with the next, which must be below it."""
    n_digits = 3 if measure == "f1" else 2
    for better, worse in pairwise(settings):
        try:
            high, low = (setting.find_mean(means, measure, data) for setting in (better, worse))
        except NoSuchCodesError:
            continue
        text = f"{better.n_bits} bits: {better} {high:.{n_digits}f}, {worse} {low:.{n_digits}f}"
        yield Check(text, high > low)


def beats(
    measure: str,
    data: str,
    winners: Sequence[str],
    rivals: Sequence[str],
    lengths: Sequence[int] = CODE_LENGTHS,
) -> Checks:
    """Check that every winner is above every rival at every code length."""
    return lambda means: (
        check
        for n, winner, rival in product(lengths, winners, rivals)
        for check in check_descending(means, measure, data, Setting(winner, n), Setting(rival, n))
    )


def beats_on_average(
    measure: str, data: str, winners: Sequence[str], rivals: Sequence[str]
) -> Checks:
    """Check that every winner is above every rival in the mean over the code lengths."""

    def find_mean(means: Means, method: str) -> float:
        lengths = (0,) if method == SCAN else CODE_LENGTHS
        return float(np.mean([means(measure, data, method, n_bits) for n_bits in lengths]))

    def checks(means: Means) -> Iterator[Check]:
        for winner, rival in product(winners, rivals):
            high, low = find_mean(means, winner), find_mean(means, rival)
            text = f"mean over the code lengths: {winner} {high:.2f}, {rival} {low:.2f}"
            yield Check(text, high > low)

    return checks


def check_near(
    values: Iterable[tuple[str, float, float]], below: float, above: float = np.inf
) -> Iterator[Check]:
    """Check triples (name, our value, paper's value): at most ``below`` less, ``above`` more."""
    for name, ours, theirs in values:
        difference = ours - theirs
        text = f"{name}: {ours:.2f}, paper {theirs:.2f} ({difference:+.2f})"
        yield Check(text, -below <= difference <= above)
