"""Comparisons of records with each other and with the paper's values.

If the records of a comparison are missing, it is neither true nor false. Code lengths that a method
cannot produce are left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from reproduction.paper import reported
from reproduction.paper.degrees import ANY, Degree
from reproduction.paper.intervals import (
    Estimate,
    Values,
    estimate_difference,
    estimate_mean,
    estimate_ratio,
)
from reproduction.shared_types import Options, Record

CODE_LENGTHS = (16, 32, 48, 64, 96, 128)
"""The paper's code lengths."""

N_DIGITS = {"f1": 3, "test_ms": 4, "encode_us": 1}
"""Digits after the decimal point; other measures have two, and small values more."""

MAX_DIGITS = 7

_NAMES = {"f1": "F1, ", "recall": "recall, "}
"""Measures that comparisons name, because a statement may be about several of them."""


class MissingRecordsError(LookupError):
    """A statement needs cases that were not run."""


class NoSuchCodesError(LookupError):
    """A statement needs codes of a length that a method cannot produce."""


class Measured:
    """Results by data set, method, code length and settings."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)
        self._groups: dict[tuple[str, str, int], list[Record]] = defaultdict(list)
        for record in self.records:
            case = record["case"]
            self._groups[case["data"], case["method"], case["n_bits"]].append(record)

    def find(self, data: str, setting: Setting) -> list[Record]:
        """Return the records of a setting; options that are not given may have any value."""
        return [
            record
            for record in self._groups.get((data, setting.method, setting.n_bits), [])
            if dict(setting.options).items() <= dict(record["case"]["options"]).items()
        ]

    def values(self, measure: str, data: str, setting: Setting) -> Values:
        """Return a measure by seed.

        Raises
        ------
        MissingRecordsError
            If the setting was not run.
        NoSuchCodesError
            If the method has no codes of this length.
        """
        records = self.find(data, setting)
        values = {
            record["case"]["seed"]: _get_value(record, measure)
            for record in records
            if measure.split()[0] in record["result"]
        }
        if values:
            return values
        text = f"{measure} of {setting}, {setting.n_bits} bits on {data}"
        impossible = any("error" in record["result"] for record in records)
        raise (NoSuchCodesError if impossible else MissingRecordsError)(text)

    def mean(self, measure: str, data: str, setting: Setting) -> Estimate:
        """Return the mean of a measure over the seeds."""
        return estimate_mean(list(self.values(measure, data, setting).values()))

    def find_lead(self, measure: str, data: str, ahead: str, behind: str, n_bits: int) -> Values:
        """Return by how much a method leads another, by common seed.

        Raises
        ------
        MissingRecordsError
            If no seed was run with both.
        """
        high, low = (self.values(measure, data, Setting(name, n_bits)) for name in (ahead, behind))
        lead = {seed: high[seed] - low[seed] for seed in high.keys() & low.keys()}
        if not lead:
            raise MissingRecordsError(f"{measure} of {ahead} and {behind} with one seed on {data}")
        return lead


def _get_value(record: Record, measure: str) -> float:
    """Return a measure; ``precision_at 10`` is a value of a curve."""
    result = record["result"]
    name, _, cutoff = measure.partition(" ")
    if not cutoff:
        return float(result[name])
    return float(result[name][result["cutoffs"].index(int(cutoff))])


class Setting(NamedTuple):
    """A method at a code length, with options."""

    method: str
    n_bits: int
    options: Options = ()

    def __str__(self) -> str:
        settings = (f", {reported.SYMBOLS.get(k, k)} = {value}" for k, value in self.options)
        return self.method + "".join(settings)


class Check(NamedTuple):
    """One comparison: its text, whether it holds, and by how much.

    ``margin`` is positive if the comparison holds; it orders the checks of a statement.
    """

    text: str
    holds: bool
    margin: Estimate


Checks = Callable[[Measured], Iterable[Check]]
"""Makes the comparisons of a statement."""


def check_value(text: str, margin: Estimate) -> Check:
    """Return a check that holds if its margin is positive."""
    return Check(f"{text} {format_interval(margin)}", margin.mean > 0, margin)


def format_interval(margin: Estimate, n_digits: int = 2) -> str:
    """Return a difference and its interval in parentheses."""
    if math.isinf(margin.low):
        return f"({margin.mean:+.{n_digits}f}, one seed)"
    low, high = f"{margin.low:+.{n_digits}f}", f"{margin.high:+.{n_digits}f}"
    return f"({margin.mean:+.{n_digits}f}, 95 % interval {low} to {high})"


def format_range(estimate: Estimate, n_digits: int = 2) -> str:
    """Return the interval of a mean that is stated before, in parentheses."""
    if math.isinf(estimate.low):
        return "(one seed)"
    return f"(95 % interval {estimate.low:.{n_digits}f} to {estimate.high:.{n_digits}f})"


def check_descending(
    measured: Measured, measure: str, data: str, *settings: Setting, degree: Degree = ANY
) -> Iterator[Check]:
    """Compare each setting with the next, which must be below it by the required degree.

    Raises
    ------
    MissingRecordsError
        If the lead must be significant and there is one seed, which has no interval.
    """
    for better, worse in pairwise(settings):
        try:
            high, low = (measured.values(measure, data, s) for s in (better, worse))
        except NoSuchCodesError:
            continue
        n_digits = _count_digits(measure, high, low)
        text = _NAMES.get(measure, "") + _describe_pair((better, worse), (high, low), n_digits)
        margin = degree.measure_margin(high, low)
        if degree.is_significant and math.isinf(margin.low):
            raise MissingRecordsError(f"{text}: a second seed")
        text += degree.describe(sum(low.values()) / len(low), n_digits)
        yield Check(text, degree.holds(margin), margin)


def _count_digits(measure: str, *values: Values) -> int:
    """Return how many decimal places show at least two digits of the larger value."""
    usual = N_DIGITS.get(measure.split()[0], 2)
    largest = max(abs(value) for own in values for value in own.values())
    if not largest:
        return usual
    return min(max(usual, 1 - math.floor(math.log10(largest))), MAX_DIGITS)


def _describe_pair(
    settings: tuple[Setting, Setting], values: tuple[Values, Values], n_digits: int
) -> str:
    """Return both means, the difference and its interval."""
    better, worse = settings
    means = [sum(own.values()) / len(own) for own in values]
    bits = f"{better.n_bits} bits: " if better.n_bits else ""
    other = f" ({worse.n_bits} bits)" if worse.n_bits not in (better.n_bits, 0) else ""
    return (
        f"{bits}{better} {means[0]:.{n_digits}f}, {worse}{other} {means[1]:.{n_digits}f} "
        f"{format_interval(estimate_difference(*values), n_digits)}"
    )


def beats(
    measure: str,
    data: str,
    winners: Sequence[str],
    rivals: Sequence[str],
    lengths: Sequence[int] = CODE_LENGTHS,
    *,
    degree: Degree = ANY,
) -> Checks:
    """Check that every winner is above every rival at every code length, by some degree."""

    def checks(measured: Measured) -> Iterator[Check]:
        for n_bits, winner, rival in product(lengths, winners, rivals):
            if winner != rival:
                # What has no codes, such as an exact scan, is the same at every length.
                pair = (Setting(name, _find_length(measured, data, name, n_bits))
                        for name in (winner, rival))  # fmt: skip
                yield from check_descending(measured, measure, data, *pair, degree=degree)

    return checks


def _find_length(measured: Measured, data: str, method: str, n_bits: int) -> int:
    return 0 if measured.find(data, Setting(method, 0)) else n_bits


def takes_times(
    measure: str,
    data: str,
    slower: Sequence[str],
    faster: Sequence[str],
    lengths: Sequence[int],
    factor: float = 1.0,
) -> Checks:
    """Check that every slow method takes more than ``factor`` times as long as every fast one."""
    return lambda measured: (
        check_times(measured, measure, data, Setting(slow, n_bits), Setting(fast, n_bits), factor)
        for n_bits, slow, fast in product(lengths, slower, faster)
    )


def check_times(
    measured: Measured, measure: str, data: str, slow: Setting, fast: Setting, factor: float
) -> Check:
    """Check that one setting takes more than ``factor`` times as long as another.

    The interval is that of the seeds on one machine; the machine matters more.
    """
    ratio = estimate_ratio(*(measured.values(measure, data, setting) for setting in (slow, fast)))
    times = Estimate(*(math.exp(value) for value in ratio))
    text = f"{slow.n_bits} bits: {slow} takes {times.mean:.2f} times as long as {fast}"
    if math.isinf(ratio.low):
        times = ratio
    margin = Estimate(*(value - math.log(factor) for value in ratio))
    return Check(f"{text} {format_range(times)}", margin.mean > 0, margin)


def is_near(
    measure: str,
    data: str,
    values: Iterable[tuple[Setting, float]],
    below: float,
    above: float = math.inf,
) -> Checks:
    """Check that means are at most ``below`` less and ``above`` more than the paper's values."""

    def checks(measured: Measured) -> Iterator[Check]:
        for setting, theirs in values:
            ours = measured.mean(measure, data, setting)
            difference = Estimate(*(value - theirs for value in ours))
            bits = f"{setting.n_bits} bits, " if setting.n_bits else ""
            text = f"{bits}{setting}: {ours.mean:.2f}, paper {theirs:g}"
            margin = min(difference.mean + below, above - difference.mean)
            half = difference.high - difference.mean
            yield Check(
                f"{text} {format_interval(difference)}", margin >= 0,
                Estimate(margin, margin - half, margin + half),
            )  # fmt: skip

    return checks


def all_of(*groups: Checks) -> Checks:
    """Return the checks of several groups together."""
    return lambda measured: (check for group in groups for check in group(measured))
