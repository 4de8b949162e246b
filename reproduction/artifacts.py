"""Every table and figure of the paper as data: the cases it needs and how it is laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from reproduction import paper
from reproduction.layouts import (
    ACCURACY,
    F1,
    MAP,
    RECALL,
    Shown,
    by_bits,
    show_base_method,
    show_base_size_figure,
    show_base_size_table,
    show_curves,
    show_digits,
    show_plane,
    show_retrieved,
    show_times,
)
from reproduction.methods import EMBEDDINGS, METHODS, PAPER, SCAN
from reproduction.records import Case, Record

LENGTHS = (16, 32, 48, 64, 96, 128)
QUICK_LENGTHS = (16, 64)
QUICK_ROWS = 2000
QUICK_QUERIES = 200

CALIBRATED: dict[tuple[str, str], dict[str, Any]] = {
    **{("cifar10", name): {"perplexity": 30} for name in ("tSNE", "SNE", "EE")},
    ("cifar10", "LE"): {"smoothness": 0.5},
    ("cifar10", "LE_B"): {"bandwidth": 0.5},
}
"""Settings of embeddings by data set that the paper does not give: with these its Table I comes
out. Elsewhere they are our own."""

MANY = 5000
"""Base points from which on the perplexity is 30 on every data set."""

QUERIES = {"sift_photos": 10_000, "sift1m": 10_000, "gist_cifar": 10_000, "gist1m": 1_000}
"""The paper's number of queries (Sec. 4) where it is not 1,000; GIST1M has no more than these."""


@dataclass(frozen=True)
class Protocol:
    """How much is run: seeds, queries, and whether only a small version of everything.

    Without a number of queries it is the paper's, which depends on the data set.
    """

    repeats: int = 10
    queries: int | None = None
    quick: bool = False

    @property
    def seeds(self) -> range:
        """Seeds of the repeats."""
        return range(1 if self.quick else self.repeats)

    @property
    def once(self) -> Protocol:
        """The same with one seed, for what is only looked at."""
        return replace(self, repeats=1)

    def size(self, data: str, queries: int | None = None) -> tuple[int, int]:
        """Queries and rows of a case; ``queries`` where the artifact has a number of its own."""
        if self.quick:
            return QUICK_QUERIES, QUICK_ROWS
        wanted = queries or self.queries or QUERIES.get(data, 1000)
        return min(wanted, QUERIES["gist1m"]) if data == "gist1m" else wanted, 0


@dataclass(frozen=True)
class Artifact:
    """One table or figure of the paper."""

    name: str
    place: str
    title: str
    cases: Callable[[Protocol], list[Case]]
    show: Callable[[list[Record]], Shown]


def sweep(
    protocol: Protocol,
    data: str,
    methods: Iterable[str],
    lengths: Iterable[int],
    *,
    measure: str = "retrieval",
    queries: int | None = None,
    **options: Any,
) -> list[Case]:
    """All combinations; a quick protocol thins out lengths, seeds, rows and queries."""
    if protocol.quick:
        lengths = [n for n in lengths if n in QUICK_LENGTHS] or list(lengths)[:1]
    size = protocol.size(data, queries)
    return [
        Case(data, method, n_bits, seed, *size, measure, _settings(data, method, options))
        for method in methods
        for n_bits in lengths
        for seed in protocol.seeds
    ]


def _settings(data: str, method: str, options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """All settings of a method, those of the paper included: equal cases are then shared."""
    embedding = method.removeprefix("IMH-").removesuffix("-ITQ")
    settings = {**METHODS[method].settings, **CALIBRATED.get((data, embedding), {}), **options}
    return tuple(sorted(settings.items()))


def _scan(
    protocol: Protocol, data: str, measure: str = "scan", queries: int | None = None
) -> list[Case]:
    return [Case(data, SCAN, 0, 0, *protocol.size(data, queries), measure)]


# The figures that compare methods by code length


def _embeddings(p: Protocol) -> list[Case]:
    names = [f"IMH-{name}" for name in EMBEDDINGS]
    return sweep(p, "cifar10", [*names, "PCAH"], LENGTHS) + _scan(p, "cifar10")


def _million(*sets: str) -> Callable[[Protocol], list[Case]]:
    """Compare on each of these data sets, as far as they are there when it is run."""
    lengths = [n for n in LENGTHS if n <= 96]
    imh = ["IMH-tSNE", "IMH-LE", "AGH"]
    others = [name for name in PAPER if name not in imh]
    return lambda p: [
        case
        for data in sets
        for case in (
            *sweep(p, data, imh, lengths, m=1000, k=2),
            *sweep(p, data, others, lengths),
        )
    ]


def _classify(p: Protocol) -> list[Case]:
    classify = partial(sweep, p, "mnist", measure="classification", queries=10000)
    imh = ["IMH-tSNE", "IMH-LE", "AGH"]
    others = [name for name in PAPER if name not in imh]
    return [
        *classify(imh, LENGTHS, m=1000),
        *classify(others, LENGTHS),
        *_scan(p, "mnist", "classification", 10000),
    ]


def _itq(p: Protocol) -> list[Case]:
    names = ["IMH-tSNE", "IMH-tSNE-ITQ", "IMH-LE", "IMH-LE-ITQ", "ITQ"]
    return [case for data in ("mnist", "cifar10") for case in sweep(p, data, names, LENGTHS)]


def _supervised(p: Protocol) -> list[Case]:
    long = ["IMH-tSNE", "SSH", "KSH", "CCA-ITQ"]
    return [
        case
        for data in ("mnist", "cifar10")
        for case in (
            *sweep(p, data, ["IMHs", "IMHs-ITQ", *long], (9,)),
            *sweep(p, data, long, LENGTHS),
        )
    ]


# Base sets


def _base_method(p: Protocol) -> list[Case]:
    lengths = (64,) if p.quick else (32, 64, 96)
    bases = ("random", "kmedoids", "kmeans")
    imh = ("IMH-LE_B", "IMH-LE", "IMH-tSNE")
    return [
        *(case for base in bases for case in sweep(p, "cifar10", imh, lengths, base=base)),
        *sweep(p, "cifar10", ["AGH"], lengths, base="kmeans"),
    ]


def _sizes(p: Protocol) -> tuple[int, ...]:
    return (100, 200, 400) if p.quick else paper.BASE_SIZES


def _base_size_table(p: Protocol) -> list[Case]:
    return [
        case
        for data in ("cifar10", "mnist")
        for m in _sizes(p)
        for case in sweep(p, data, ["IMH-tSNE"], [64], m=m, **_for_many(m))
    ]


def _for_many(m: int) -> dict[str, Any]:
    """So many base points lie so near that the few of a small perplexity hold nothing together."""
    return {"perplexity": 30} if m >= MANY else {}


def _base_size_figure(p: Protocol) -> list[Case]:
    sizes = (100, 400) if p.quick else (100, 200, 300, 400, 500, 600, 700, 800)
    # k = 5 is among the sizes already.
    nearest = (2,) if p.quick else (1, 2, 3, 8, 10, 15, 20)
    names = ["IMH-tSNE", "IMH-LE", "IMH-LE_B", "AGH"]
    return [
        *(case for m in sizes for case in sweep(p, "cifar10", names, [64], m=m, k=5)),
        *(case for k in nearest for case in sweep(p, "cifar10", names, [64], m=400, k=k)),
    ]


# Pictures


def _plane(p: Protocol) -> list[Case]:
    return sweep(p.once, "mnist", ["IMH-tSNE"], [2], measure="plane")


def _retrieved(p: Protocol) -> list[Case]:
    return sweep(p.once, "cifar10", PAPER, [32], measure="retrieved")


def _digits(p: Protocol) -> list[Case]:
    return sweep(p.once, "mnist", ["IMH-tSNE"], [48], measure="digits")


# Times


def _times(p: Protocol) -> list[Case]:
    return sweep(p, "mnist", PAPER, (64, 128))


ARTIFACTS: dict[str, Artifact] = {
    a.name: a
    for a in (
        Artifact("fig-query-digits", "Fig. 2", "Queries among 300 digits", _digits, show_digits),
        Artifact(
            "fig-embeddings", "Fig. 3", "Manifold methods within IMH on CIFAR-10",
            _embeddings, by_bits(MAP),
        ),
        Artifact(
            "fig-base-size", "Fig. 4", "Base set size and neighbors on CIFAR-10, 64 bits",
            _base_size_figure, show_base_size_figure,
        ),
        Artifact(
            "table-base-method", "Table I", "How the base set is chosen, CIFAR-10",
            _base_method, show_base_method,
        ),
        Artifact(
            "table-base-size", "Table II", "Impact of the base set's size, 64 bits",
            _base_size_table, show_base_size_table,
        ),
        Artifact("fig-2d", "Fig. 5", "MNIST in the plane", _plane, show_plane),
        Artifact(
            "fig-cifar", "Fig. 6", "Comparison on CIFAR-10",
            lambda p: sweep(p, "cifar10", PAPER, LENGTHS), by_bits(MAP, F1),
        ),
        Artifact(
            "fig-cifar-pr", "Fig. 7", "Precision and recall on CIFAR-10, 64 bits",
            lambda p: sweep(p, "cifar10", PAPER, [64]), show_curves,
        ),
        Artifact("fig-retrieved", "Fig. 8", "Retrieved, 32 bits", _retrieved, show_retrieved),
        Artifact(
            "fig-mnist", "Fig. 9", "Comparison on MNIST",
            lambda p: sweep(p, "mnist", PAPER, LENGTHS), by_bits(MAP, F1),
        ),
        Artifact("table-time", "Table III", "Times on MNIST", _times, show_times),
        Artifact(
            "fig-sift", "Fig. 10", "A million SIFT descriptors",
            _million("sift_photos", "sift1m"), by_bits(F1, RECALL, stated="fig-sift"),
        ),
        Artifact(
            "fig-gist", "Fig. 11", "A million GIST descriptors",
            _million("gist_cifar", "gist1m"), by_bits(F1, RECALL),
        ),
        Artifact(
            "fig-classify", "Fig. 12", "A linear SVM on the codes of MNIST",
            _classify, by_bits(ACCURACY, stated="fig-classify"),
        ),
        Artifact("fig-itq", "Fig. 13", "Learned rotations", _itq, by_bits(F1, RECALL)),
        Artifact("fig-supervised", "Fig. 14", "Supervised methods", _supervised, by_bits(MAP, F1)),
    )
}  # fmt: skip
