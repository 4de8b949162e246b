"""What the paper claims in words, as checks on the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from bitfold.experiments import paper
from bitfold.experiments.methods import PAPER
from bitfold.experiments.records import Record


class Missing(LookupError):
    """Raised when a claim speaks of cases that were not run."""


class Means:
    """Means over seeds, by data set, method, code length and settings."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = list(records)

    def __call__(self, measure: str, data: str, method: str, n_bits: int, **options: Any) -> float:
        """Mean of a measure; settings that are not named may have any value."""
        values = [
            r["result"][measure]
            for r in self._records
            if (r["case"]["data"], r["case"]["method"], r["case"]["n_bits"])
            == (data, method, n_bits)
            and options.items() <= dict(r["case"]["options"]).items()
            and measure in r["result"]
        ]
        if not values:
            raise Missing(f"{measure} of {method}, {n_bits} bits on {data}")
        return float(np.mean(values))

    def lengths(self, data: str, method: str) -> list[int]:
        """Code lengths that were run."""
        found = {
            r["case"]["n_bits"]
            for r in self._records
            if (r["case"]["data"], r["case"]["method"]) == (data, method)
            and "refused" not in r["result"]
        }
        return sorted(found)


class Claim(NamedTuple):
    """A claim of the paper, and whether the records bear it out."""

    text: str
    holds: Callable[[Means], bool]


class Verdict(NamedTuple):
    """A claim held against records; None where they do not suffice."""

    text: str
    holds: bool | None


def judge(claims: Iterable[Claim], records: Iterable[Record]) -> list[Verdict]:
    """Hold claims against records."""
    means = Means(records)
    return [Verdict(claim.text, _holds(claim, means)) for claim in claims]


def _holds(claim: Claim, means: Means) -> bool | None:
    try:
        return bool(claim.holds(means))
    except Missing:
        return None


def _falling(*names: str) -> Callable[[Means], bool]:
    """Each method above the next on CIFAR-10, in the mean over lengths of 32 bits and more."""

    def holds(of: Means) -> bool:
        values = []
        for name in names:
            lengths = [n for n in of.lengths("cifar10", name) if n >= 32]
            if not lengths:
                raise Missing(name)
            values.append(np.mean([of("map", "cifar10", name, n) for n in lengths]))
        return bool((np.diff(values) < 0).all())

    return holds


def _best(
    data: str, winner: str, rivals: Iterable[str], measure: str = "map"
) -> Callable[[Means], bool]:
    """The winner above all rivals at every length that both have."""

    def holds(of: Means) -> bool:
        lengths = of.lengths(data, winner)
        if not lengths:
            raise Missing(winner)
        return all(
            of(measure, data, winner, n) > of(measure, data, rival, n)
            for n in lengths
            for rival in rivals
            if n in of.lengths(data, rival)
        )

    return holds


def _near(reported: dict[int, float], data: str, slack: float) -> Callable[[Means], bool]:
    """IMH-tSNE at 64 bits within ``slack`` of the paper or above it, at every size."""
    return lambda of: all(
        of("map", data, "IMH-tSNE", 64, m=m) >= value - slack for m, value in reported.items()
    )


def _up_to(data: str, m: int) -> dict[int, float]:
    pairs = zip(paper.BASE_SIZES, paper.BASE_SIZE[data], strict=True)
    return {size: value for size, value in pairs if size <= m}


def _base_methods_near(of: Means) -> bool:
    return all(
        of("map", "cifar10", method, n_bits, base=base) >= reported.mean - 0.8
        for (n_bits, base, method), reported in paper.BASE_METHOD.items()
        if base == "kmeans" and method != "AGH"
    )


def _base_methods_in_order(of: Means) -> bool:
    return all(
        of("map", "cifar10", method, n, base="kmeans")
        > of("map", "cifar10", method, n, base="kmedians")
        > of("map", "cifar10", method, n, base="random")
        for method in ("IMH-LE_B", "IMH-LE", "IMH-tSNE")
        for n in (32, 64, 96)
    )


def _rotation_lifts(data: str) -> Callable[[Means], bool]:
    def holds(of: Means) -> bool:
        if not of.lengths(data, "IMH-tSNE"):
            raise Missing("IMH-tSNE")
        return all(
            of("f1", data, f"{name}-ITQ", n) > of("f1", data, name, n)
            for name in ("IMH-tSNE", "IMH-LE")
            for n in of.lengths(data, name)
            if n >= 32
        )

    return holds


def _others_collapse(data: str) -> Callable[[Means], bool]:
    """At 64 bits every other method's F1 is below a tenth of IMH-tSNE's, which keeps a third."""

    def holds(of: Means) -> bool:
        ours = of("f1", data, "IMH-tSNE", 64)
        others = [name for name in PAPER if not name.startswith(("IMH", "AGH"))]
        kept = ours > of("f1", data, "IMH-tSNE", 16) / 3
        return kept and all(of("f1", data, name, 64) < ours / 10 for name in others)

    return holds


def _supervision_helps(data: str) -> Callable[[Means], bool]:
    rivals = ("IMH-tSNE", "SSH", "KSH", "CCA-ITQ")
    return lambda of: all(
        of("map", data, name, 9) > of("map", data, rival, 9)
        for name in ("IMHs", "IMHs-ITQ")
        for rival in rivals
    )


_RIVALS = [name for name in PAPER if name != "IMH-tSNE"]

CLAIMS: dict[str, list[Claim]] = {
    "fig-embeddings": [
        Claim(
            "t-SNE above LE above LE on the base set alone",
            _falling("IMH-tSNE", "IMH-LE", "IMH-LE_B"),
        ),
        Claim(
            "SNE above LE above LE on the base set alone", _falling("IMH-SNE", "IMH-LE", "IMH-LE_B")
        ),
        Claim(
            "EE above LE above LE on the base set alone", _falling("IMH-EE", "IMH-LE", "IMH-LE_B")
        ),
        Claim("IMH-PCA above PCAH", _falling("IMH-PCA", "PCAH")),
    ],
    "table-base-method": [
        Claim("within 0.8 of the paper or above, K-means base sets", _base_methods_near),
        Claim("K-means above K-medians above random", _base_methods_in_order),
    ],
    "table-base-size": [
        Claim(
            "MNIST within 1.5 of the paper or above, up to m = 2,000",
            _near(_up_to("mnist", 2000), "mnist", 1.5),
        ),
        Claim(
            "CIFAR-10 within 0.6 of the paper or above, up to m = 2,000",
            _near(_up_to("cifar10", 2000), "cifar10", 0.6),
        ),
    ],
    "fig-cifar": [
        Claim("IMH-tSNE has the highest MAP at every length", _best("cifar10", "IMH-tSNE", _RIVALS))
    ],
    "fig-mnist": [
        Claim("IMH-tSNE has the highest MAP at every length", _best("mnist", "IMH-tSNE", _RIVALS)),
    ],
    "fig-sift": [
        Claim(
            "at 64 bits the others' F1 has collapsed, IMH-tSNE's has not",
            _others_collapse("sift_photos"),
        ),
    ],
    "fig-classify": [
        Claim(
            "94.1 % at 128 bits",
            lambda of: of("accuracy", "mnist", "IMH-tSNE", 128) >= paper.CLASSIFICATION,
        ),
    ],
    "fig-itq": [
        Claim("a rotation lifts F1 on MNIST", _rotation_lifts("mnist")),
        Claim("a rotation lifts F1 on CIFAR-10", _rotation_lifts("cifar10")),
    ],
    "fig-supervised": [
        Claim("IMHs above IMH and its rivals at 9 bits on MNIST", _supervision_helps("mnist")),
        Claim("IMHs above IMH and its rivals at 9 bits on CIFAR-10", _supervision_helps("cifar10")),
    ],
}
