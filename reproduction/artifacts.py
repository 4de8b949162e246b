"""Every table and figure of the paper as data: the cases it needs and how it is presented."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from reproduction.experiments.methods import EMBEDDINGS, METHODS, PAPER_METHODS, SCAN
from reproduction.paper.checks import CODE_LENGTHS
from reproduction.paper.reported import BASE_SIZES
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.report.presentation import (
    ACCURACY,
    F1,
    MAP,
    RECALL,
    Present,
    present_base_methods,
    present_base_size_figure,
    present_base_size_table,
    present_by_length,
    present_curves,
    present_digits,
    present_plane,
    present_retrieved,
    present_times,
)
from reproduction.shared_types import Options

QUICK_LENGTHS = (16, 64)

CALIBRATED: dict[tuple[str, str], dict[str, Any]] = {
    **{("cifar10", name): {"perplexity": 30} for name in ("tSNE", "SNE", "EE")},
    ("cifar10", "LE"): {"smoothness": 0.5},
    ("cifar10", "LE_B"): {"bandwidth": 0.5},
}
"""Settings of embeddings by data set, which the paper does not state; they reproduce Table I."""

MANY_BASE_POINTS = 5000
"""Number of base points above which the perplexity is 30 on every data set."""


@dataclass(frozen=True)
class Artifact:
    """A table or figure: its number and title, the cases it needs, and how it is presented."""

    name: str
    number: str
    title: str
    cases: Callable[[Protocol], list[Case]]
    present: Present


def make_cases(
    protocol: Protocol,
    data: str,
    methods: Iterable[str],
    lengths: Iterable[int],
    *,
    measure: str = "retrieval",
    n_queries: int | None = None,
    **options: Any,
) -> list[Case]:
    """Return all combinations of methods, code lengths and seeds."""
    if protocol.quick:
        lengths = [n for n in lengths if n in QUICK_LENGTHS] or list(lengths)[:1]
    size = protocol.find_size(data, n_queries)
    return [
        Case(data, method, n_bits, seed, *size, measure, _find_options(data, method, options))
        for method in methods
        for n_bits in lengths
        for seed in protocol.seeds
    ]


def _find_options(data: str, method: str, options: dict[str, Any]) -> Options:
    """Return all settings of a method, including the paper's, so that equal cases are shared."""
    embedding = method.removeprefix("IMH-").removesuffix("-ITQ")
    settings = {**METHODS[method].settings, **CALIBRATED.get((data, embedding), {}), **options}
    return tuple(sorted(settings.items()))


def _scan_case(
    protocol: Protocol, data: str, measure: str = "scan", n_queries: int | None = None
) -> Case:
    return Case(data, SCAN, 0, 0, *protocol.find_size(data, n_queries), measure)


# Comparisons of methods by code length

_BASE_SET_METHODS = ["IMH-tSNE", "IMH-LE", "AGH"]
_OTHER_METHODS = [name for name in PAPER_METHODS if name not in _BASE_SET_METHODS]


def _embedding_cases(protocol: Protocol) -> list[Case]:
    names = [f"IMH-{name}" for name in EMBEDDINGS]
    cases = make_cases(protocol, "cifar10", [*names, "PCAH"], CODE_LENGTHS)
    return [*cases, _scan_case(protocol, "cifar10")]


def _million_cases(*sets: str) -> Callable[[Protocol], list[Case]]:
    """Return the cases of data sets with a million rows."""
    lengths = [n for n in CODE_LENGTHS if n <= 96]
    settings: dict[str, Any] = {"n_base_points": 1000, "n_neighbors": 2}
    return lambda protocol: [
        case
        for data in sets
        for case in (
            *make_cases(protocol, data, _BASE_SET_METHODS, lengths, **settings),
            *make_cases(protocol, data, _OTHER_METHODS, lengths),
        )
    ]


def _classification_cases(protocol: Protocol) -> list[Case]:
    make = partial(make_cases, protocol, "mnist", measure="classification", n_queries=10000)
    return [
        *make(_BASE_SET_METHODS, CODE_LENGTHS, n_base_points=1000),
        *make(_OTHER_METHODS, CODE_LENGTHS),
        _scan_case(protocol, "mnist", "classification", 10000),
    ]


def _rotation_cases(protocol: Protocol) -> list[Case]:
    names = ["IMH-tSNE", "IMH-tSNE-ITQ", "IMH-LE", "IMH-LE-ITQ", "ITQ"]
    return [
        case
        for data in ("mnist", "cifar10")
        for case in make_cases(protocol, data, names, CODE_LENGTHS)
    ]


def _supervised_cases(protocol: Protocol) -> list[Case]:
    any_length = ["IMH-tSNE", "SSH", "KSH", "CCA-ITQ"]
    return [
        case
        for data in ("mnist", "cifar10")
        for case in (
            *make_cases(protocol, data, ["IMHs", "IMHs-ITQ", *any_length], (9,)),
            *make_cases(protocol, data, any_length, CODE_LENGTHS),
        )
    ]


# Base sets


def _base_method_cases(protocol: Protocol) -> list[Case]:
    lengths = (64,) if protocol.quick else (32, 64, 96)
    imh = ("IMH-LE_B", "IMH-LE", "IMH-tSNE")
    return [
        *(
            case
            for base in ("random", "kmedoids", "kmeans")
            for case in make_cases(protocol, "cifar10", imh, lengths, base=base)
        ),
        *make_cases(protocol, "cifar10", ["AGH"], lengths, base="kmeans"),
    ]


def _base_size_table_cases(protocol: Protocol) -> list[Case]:
    sizes = (100, 200, 400) if protocol.quick else BASE_SIZES
    return [
        case
        for data in ("cifar10", "mnist")
        for m in sizes
        for case in make_cases(
            protocol, data, ["IMH-tSNE"], [64], n_base_points=m, **_perplexity_for(m)
        )
    ]


def _perplexity_for(n_base_points: int) -> dict[str, Any]:
    """Return a larger perplexity if base points are dense; few neighbors would not connect them."""
    return {"perplexity": 30} if n_base_points >= MANY_BASE_POINTS else {}


def _base_size_figure_cases(protocol: Protocol) -> list[Case]:
    sizes = (100, 400) if protocol.quick else (100, 200, 300, 400, 500, 600, 700, 800)
    # 5 neighbors are among the cases of the sizes.
    neighbors = (2,) if protocol.quick else (1, 2, 3, 8, 10, 15, 20)
    settings = [*((m, 5) for m in sizes), *((400, k) for k in neighbors)]
    names = ["IMH-tSNE", "IMH-LE", "IMH-LE_B", "AGH"]
    return [
        case
        for m, k in settings
        for case in make_cases(protocol, "cifar10", names, [64], n_base_points=m, n_neighbors=k)
    ]


# Pictures


def _plane_cases(protocol: Protocol) -> list[Case]:
    return make_cases(protocol.once, "mnist", ["IMH-tSNE"], [2], measure="plane")


def _retrieved_cases(protocol: Protocol) -> list[Case]:
    return make_cases(protocol.once, "cifar10", PAPER_METHODS, [32], measure="retrieved")


def _digit_cases(protocol: Protocol) -> list[Case]:
    return make_cases(protocol.once, "mnist", ["IMH-tSNE"], [48], measure="digits")


ARTIFACTS: dict[str, Artifact] = {
    artifact.name: artifact
    for artifact in (
        Artifact(
            "fig-query-digits", "Fig. 2", "Queries among 300 digits", _digit_cases, present_digits
        ),
        Artifact(
            "fig-embeddings", "Fig. 3", "Manifold methods within IMH on CIFAR-10",
            _embedding_cases, present_by_length(MAP),
        ),
        Artifact(
            "fig-base-size", "Fig. 4", "Base set size and neighbors on CIFAR-10, 64 bits",
            _base_size_figure_cases, present_base_size_figure,
        ),
        Artifact(
            "table-base-method", "Table I", "How the base set is chosen, CIFAR-10",
            _base_method_cases, present_base_methods,
        ),
        Artifact(
            "table-base-size", "Table II", "Impact of the size of the base set, 64 bits",
            _base_size_table_cases, present_base_size_table,
        ),
        Artifact("fig-2d", "Fig. 5", "MNIST in the plane", _plane_cases, present_plane),
        Artifact(
            "fig-cifar", "Fig. 6", "Comparison on CIFAR-10",
            lambda p: make_cases(p, "cifar10", PAPER_METHODS, CODE_LENGTHS),
            present_by_length(MAP, F1),
        ),
        Artifact(
            "fig-cifar-pr", "Fig. 7", "Precision and recall on CIFAR-10, 64 bits",
            lambda p: make_cases(p, "cifar10", PAPER_METHODS, [64]), present_curves,
        ),
        Artifact(
            "fig-retrieved", "Fig. 8", "Retrieved images, 32 bits",
            _retrieved_cases, present_retrieved,
        ),
        Artifact(
            "fig-mnist", "Fig. 9", "Comparison on MNIST",
            lambda p: make_cases(p, "mnist", PAPER_METHODS, CODE_LENGTHS),
            present_by_length(MAP, F1),
        ),
        Artifact(
            "table-time", "Table III", "Times on MNIST",
            lambda p: make_cases(p, "mnist", PAPER_METHODS, (64, 128)), present_times,
        ),
        Artifact(
            "fig-sift", "Fig. 10", "A million SIFT descriptors",
            _million_cases("sift_photos", "sift1m"),
            present_by_length(F1, RECALL, artifact="fig-sift"),
        ),
        Artifact(
            "fig-gist", "Fig. 11", "A million GIST descriptors",
            _million_cases("gist_cifar", "gist1m"), present_by_length(F1, RECALL),
        ),
        Artifact(
            "fig-classify", "Fig. 12", "A linear SVM on the codes of MNIST",
            _classification_cases, present_by_length(ACCURACY, artifact="fig-classify"),
        ),
        Artifact(
            "fig-itq", "Fig. 13", "Learned rotations",
            _rotation_cases, present_by_length(F1, RECALL),
        ),
        Artifact(
            "fig-supervised", "Fig. 14", "Supervised methods",
            _supervised_cases, present_by_length(MAP, F1),
        ),
    )
}  # fmt: skip
"""The tables and figures by name, in the order of the paper."""
