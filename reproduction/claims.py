"""What the paper claims in words, and the figures it must reach here, as checks on the records.

A claim rests on comparisons. Each needs its records: where one is missing, the claim is neither
true nor false. A method that cannot have codes of some length is left out there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from reproduction import paper
from reproduction.methods import PAPER, SCAN
from reproduction.records import Record

LENGTHS = (16, 32, 48, 64, 96, 128)
"""The paper's code lengths."""


class Missing(LookupError):
    """Raised when a claim speaks of cases that were not run."""


class Refused(LookupError):
    """Raised when a claim speaks of codes that a method cannot have."""


class Means:
    """Means over seeds, by data set, method, code length and settings."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)

    def __call__(self, measure: str, data: str, method: str, n_bits: int, **options: Any) -> float:
        """Mean of a measure; settings that are not named may have any value."""
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
        what = f"{measure} of {method}, {n_bits} bits on {data}"
        raise Refused(what) if any("error" in result for result in results) else Missing(what)


class Check(NamedTuple):
    """One comparison that a claim rests on, in words and figures."""

    text: str
    holds: bool


Checks = Callable[[Means], Iterable[Check]]


class Claim(NamedTuple):
    """A claim of the paper, and the comparisons that bear it out."""

    text: str
    checks: Checks


class Verdict(NamedTuple):
    """A claim held against records: None where they do not suffice, and what speaks against it."""

    text: str
    holds: bool | None
    against: list[str]


def judge(claims: Iterable[Claim], records: Iterable[Record]) -> list[Verdict]:
    """Hold claims against records."""
    means = Means(records)
    return [_judged(claim, means) for claim in claims]


def _judged(claim: Claim, means: Means) -> Verdict:
    try:
        checks = list(claim.checks(means))
    except Missing:
        return Verdict(claim.text, None, [])
    against = [check.text for check in checks if not check.holds]
    return Verdict(claim.text, not against if checks else None, against)


# Comparisons


class Setting(NamedTuple):
    """A method at a code length, with settings."""

    method: str
    n_bits: int
    options: tuple[tuple[str, Any], ...] = ()

    def value(self, of: Means, measure: str, data: str) -> float:
        """Mean of a measure over the seeds."""
        return of(measure, data, self.method, self.n_bits, **dict(self.options))

    def __str__(self) -> str:
        settings = "".join(f", {name} = {value}" for name, value in self.options)
        return self.method + settings


def _above(of: Means, measure: str, data: str, *falling: Setting) -> Iterator[Check]:
    """Compare each setting with the next, which it must be above."""
    for better, worse in pairwise(falling):
        try:
            pair = [setting.value(of, measure, data) for setting in (better, worse)]
        except Refused:
            continue
        digits = 3 if measure == "f1" else 2
        high, low = (f"{value:.{digits}f}" for value in pair)
        text = f"{better.n_bits} bits: {better} {high}, {worse} {low}"
        yield Check(text, pair[0] > pair[1])


def beats(
    measure: str,
    data: str,
    winners: Iterable[str],
    rivals: Iterable[str],
    lengths: Iterable[int] = LENGTHS,
) -> Checks:
    """Every winner above every rival at every length."""
    pairs = [(one, other) for one in winners for other in rivals]
    return lambda of: (
        check
        for n_bits in lengths
        for one, other in pairs
        for check in _above(of, measure, data, Setting(one, n_bits), Setting(other, n_bits))
    )


def on_average(measure: str, data: str, winners: Iterable[str], rivals: Iterable[str]) -> Checks:
    """Every winner above every rival in the mean over the code lengths."""

    def mean(of: Means, method: str) -> float:
        if method == SCAN:
            return of(measure, data, SCAN, 0)
        return float(np.mean([of(measure, data, method, n) for n in LENGTHS]))

    def checks(of: Means) -> Iterator[Check]:
        for winner in winners:
            for rival in rivals:
                high, low = mean(of, winner), mean(of, rival)
                text = f"mean over the code lengths: {winner} {high:.2f}, {rival} {low:.2f}"
                yield Check(text, high > low)

    return checks


def _reaches(
    values: Iterable[tuple[str, float, float]], below: float, above: float = np.inf
) -> Iterator[Check]:
    """Compare (what, ours, paper's): at most so far below, and so far above."""
    for what, ours, reported in values:
        difference = ours - reported
        text = f"{what}: {ours:.2f}, paper {reported:.2f} ({difference:+.2f})"
        yield Check(text, -below <= difference <= above)


def _base_sizes_near(data: str, slack: float) -> Checks:
    """IMH-tSNE at 64 bits within ``slack`` of the paper or above it, for m up to 2,000."""
    reported = {m: value for m, value in zip(*_table_ii(data), strict=True) if m <= 2000}
    return lambda of: _reaches(
        [(f"m = {m:,}", of("map", data, "IMH-tSNE", 64, m=m), v) for m, v in reported.items()],
        slack,
    )


def _table_ii(data: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    return paper.BASE_SIZES, paper.BASE_SIZE[data]


_IMH = ("IMH-LE_B", "IMH-LE", "IMH-tSNE")


def _base_methods_near(of: Means) -> Iterator[Check]:
    values = [
        (f"{n_bits} bits, {method}", of("map", "cifar10", method, n_bits, base=base), value.mean)
        for (n_bits, base, method), value in paper.BASE_METHOD.items()
        if base == "kmeans" and method in _IMH
    ]
    return _reaches(values, 0.8, 0.8)


def _base_methods_in_order(of: Means) -> Iterator[Check]:
    for n_bits in (32, 64, 96):
        for method in _IMH:
            ways = ("kmeans", "kmedoids", "random")
            falling = [Setting(method, n_bits, (("base", way),)) for way in ways]
            yield from _above(of, "map", "cifar10", *falling)


def _more_base_points_help(of: Means) -> Iterator[Check]:
    for method in ("IMH-tSNE", "IMH-LE"):
        many, few = (Setting(method, 64, (("k", 5), ("m", m))) for m in (800, 100))
        yield from _above(of, "map", "cifar10", many, few)


def _le_above_le_b(of: Means) -> Iterator[Check]:
    for m in (100, 200, 300, 400, 500, 600, 700, 800):
        options = (("k", 5), ("m", m))
        pair = (Setting(name, 64, options) for name in ("IMH-LE", "IMH-LE_B"))
        yield from _above(of, "map", "cifar10", *pair)


def _embedded_neighbors_are_right(of: Means) -> Iterator[Check]:
    """Compare the shares of right answers with and without the embedding (Fig. 2).

    Of all the digits as queries: with the four that are shown it would be a matter of luck.
    """
    ways = (("ℓ2 on t-SNE, 48-D", "ℓ2, 784-D"), ("Hamming, 48 bits", "LSH, 128 bits"))
    if not of.records:
        raise Missing("Fig. 2")
    for better, worse in ways:
        high, low = (
            float(np.mean([r["result"][way]["share"] for r in of.records]))
            for way in (better, worse)
        )
        yield Check(f"right answers: {better} {high:.1f} %, {worse} {low:.1f} %", high > low)


def _others_collapse(data: str) -> Checks:
    """At 64 bits F1 of the others is below a tenth of IMH-tSNE's, which keeps a third."""

    def checks(of: Means) -> Iterator[Check]:
        ours, before = (of("f1", data, "IMH-tSNE", n) for n in (64, 16))
        yield Check(f"IMH-tSNE {ours:.3f} at 64 bits, {before:.3f} at 16", ours > before / 3)
        for name in _UNRELATED:
            theirs = of("f1", data, name, 64)
            text = f"64 bits: {name} {theirs:.4f}, IMH-tSNE {ours:.4f}"
            yield Check(text, theirs < ours / 10)

    return checks


def _trained_faster(winners: Iterable[str], rivals: Iterable[str]) -> Checks:
    return lambda of: (
        check
        for n_bits in (64, 128)
        for one in winners
        for other in rivals
        for check in _above(
            of, "fit_seconds", "mnist", Setting(other, n_bits), Setting(one, n_bits)
        )
    )


def _classified(of: Means) -> Iterator[Check]:
    ours = of("accuracy", "mnist", "IMH-tSNE", 128)
    return _reaches([("IMH-tSNE, 128 bits", ours, paper.CLASSIFICATION)], 0.0)


_RIVALS = [name for name in PAPER if name != "IMH-tSNE"]
_UNRELATED = [name for name in PAPER if not name.startswith(("IMH", "AGH"))]
_SUPERVISED = ("IMHs", "IMHs-ITQ")
_LEARNED = ("IMH-tSNE", "SSH", "KSH", "CCA-ITQ")


def _by_rotation(data: str) -> list[Claim]:
    name = paper.DATA_NAMES[data]
    return [
        Claim(f"ITQ lifts F1 of IMH-tSNE on {name}, at every length",
              beats("f1", data, ["IMH-tSNE-ITQ"], ["IMH-tSNE"])),
        Claim(f"ITQ lifts F1 of IMH-LE on {name}, at every length",
              beats("f1", data, ["IMH-LE-ITQ"], ["IMH-LE"])),
        Claim(f"IMH with ITQ above PCA-ITQ by F1 on {name}, at every length",
              beats("f1", data, ["IMH-tSNE-ITQ", "IMH-LE-ITQ"], ["ITQ"])),
    ]  # fmt: skip


def _by_lookup(data: str) -> list[Claim]:
    return [
        Claim(f"{name} above the methods without a base set by {head} from 32 bits on",
              beats(measure, data, [name], _UNRELATED, (32, 48, 64, 96)))
        for name in ("IMH-tSNE", "IMH-LE")
        for measure, head in (("f1", "F1"), ("recall", "recall"))
    ]  # fmt: skip


def _by_supervision(data: str) -> list[Claim]:
    name = paper.DATA_NAMES[data]
    return [
        Claim(f"{winner} above IMH, SSH, KSH and CCA-ITQ at 9 bits by {head} on {name}",
              beats(measure, data, [winner], _LEARNED, [9]))
        for winner in _SUPERVISED
        for measure, head in (("map", "MAP"), ("f1", "F1"))
    ] + [
        Claim(f"ITQ lifts MAP of IMHs on {name}", beats("map", data, ["IMHs-ITQ"], ["IMHs"], [9]))
    ]  # fmt: skip


CLAIMS: dict[str, list[Claim]] = {
    "fig-query-digits": [
        Claim("after embedding more of the neighbors are right", _embedded_neighbors_are_right),
    ],
    "fig-embeddings": [
        Claim("t-SNE, SNE and EE above LE",
              on_average("map", "cifar10", ["IMH-tSNE", "IMH-SNE", "IMH-EE"], ["IMH-LE"])),
        Claim("LE above LE on the base set alone",
              on_average("map", "cifar10", ["IMH-LE"], ["IMH-LE_B"])),
        Claim("t-SNE, SNE, EE and LE above the exhaustive ℓ2 scan",
              on_average("map", "cifar10", ["IMH-tSNE", "IMH-SNE", "IMH-EE", "IMH-LE"], [SCAN])),
        Claim("PCA above LE on the base set alone",
              on_average("map", "cifar10", ["IMH-PCA"], ["IMH-LE_B"])),
        Claim("IMH-PCA above PCAH", on_average("map", "cifar10", ["IMH-PCA"], ["PCAH"])),
    ],
    "fig-base-size": [
        Claim("MAP is higher with 800 base points than with 100", _more_base_points_help),
        Claim("LE above LE on the base set alone, whatever its size", _le_above_le_b),
    ],
    "table-base-method": [
        Claim("within 0.8 of the paper with K-means", _base_methods_near),
        Claim("K-means above K-medians above random", _base_methods_in_order),
    ],
    "table-base-size": [
        Claim("MNIST within 1.5 of the paper or above, up to m = 2,000",
              _base_sizes_near("mnist", 1.5)),
        Claim("CIFAR-10 within 0.6 of the paper or above, up to m = 2,000",
              _base_sizes_near("cifar10", 0.6)),
    ],
    "fig-cifar": [
        Claim("IMH-tSNE has the highest MAP at every length",
              beats("map", "cifar10", ["IMH-tSNE"], _RIVALS)),
        Claim("IMH-LE above AGH and STH by MAP at every length",
              beats("map", "cifar10", ["IMH-LE"], ["AGH", "STH"])),
        Claim("IMH-tSNE above the methods without a base set by F1 at every length",
              beats("f1", "cifar10", ["IMH-tSNE"], _UNRELATED)),
    ],
    "fig-mnist": [
        Claim("IMH-tSNE has the highest MAP at every length",
              beats("map", "mnist", ["IMH-tSNE"], _RIVALS)),
        Claim("IMH-tSNE has the highest F1 at every length",
              beats("f1", "mnist", ["IMH-tSNE"], _RIVALS)),
        Claim("IMH-LE above AGH, STH and SH by MAP at every length",
              beats("map", "mnist", ["IMH-LE"], ["AGH", "STH", "SH"])),
        Claim("PCAH has the lowest MAP of all from 32 bits on",
              beats("map", "mnist", [n for n in PAPER if n != "PCAH"], ["PCAH"], LENGTHS[1:])),
    ],
    "table-time": [
        Claim("PCAH is the fastest to train",
              _trained_faster(["PCAH"], [n for n in PAPER if n != "PCAH"])),
        Claim("IMH and AGH train faster than STH and BRE",
              _trained_faster(["IMH-tSNE", "IMH-LE", "AGH"], ["STH", "BRE"])),
    ],
    "fig-sift": [
        Claim("at 64 bits the others' F1 has collapsed, IMH-tSNE's has not",
              _others_collapse("sift_photos")),
        Claim("ITQ has the highest F1 at 16 bits",
              beats("f1", "sift_photos", ["ITQ"], [n for n in PAPER if n != "ITQ"], [16])),
        *_by_lookup("sift_photos"),
    ],
    "fig-gist": _by_lookup("gist_cifar"),
    "fig-classify": [
        Claim("94.1 % at 128 bits", _classified),
        Claim("IMH-tSNE above the methods without a base set at every length",
              beats("accuracy", "mnist", ["IMH-tSNE"], _UNRELATED)),
    ],
    "fig-itq": [*_by_rotation("mnist"), *_by_rotation("cifar10")],
    "fig-supervised": [*_by_supervision("mnist"), *_by_supervision("cifar10")],
}  # fmt: skip
