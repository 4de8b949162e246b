"""The cases that the tables and figures of the paper need, in both columns of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from reproduction.columns import BITFOLD, PUBLISHED, name_in_column
from reproduction.data.loader import OTHER_QUERIES
from reproduction.experiments.methods import (
    EMBEDDINGS,
    METHODS,
    ON_UNIT_ROWS,
    OTHER_METHODS,
    SCAN,
)
from reproduction.paper.checks import CODE_LENGTHS
from reproduction.paper.reported import BASE_SIZES
from reproduction.protocol import Protocol
from reproduction.records import Case

COLUMNS = (PUBLISHED, BITFOLD)
QUICK_LENGTHS = (16, 64)
QUICK_SIZES = (100, 400)

BASE_SET_METHODS = ("IMH-tSNE", "IMH-LE", "AGH")

FIGURE_SIZES = (100, 200, 300, 400, 500, 600, 700, 800)
FIGURE_NEIGHBORS = (1, 2, 3, 8, 10, 15, 20)
"""Neighbors in Fig. 4; 5 are among the cases of the sizes."""

SUPERVISED_BITS = 9
"""Discriminants of ten classes."""

ListCases = Callable[[Protocol], list[Case]]


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
        Case(data, method, n_bits, seed, *size, measure, _find_options(method, options))
        for method in methods
        for n_bits in lengths
        for seed in protocol.list_seeds(data)
    ]


def _find_options(method: str, options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return all settings of a method, including the paper's, so that equal cases are shared."""
    return tuple(sorted({**METHODS[method].settings, **options}.items()))


def make_both(
    protocol: Protocol, data: str, methods: Sequence[str], lengths: Iterable[int], **options: Any
) -> list[Case]:
    """Return the cases of methods with a base set in both columns."""
    names = [name_in_column(method, column) for column in COLUMNS for method in methods]
    return make_cases(protocol, data, names, lengths, **options)


def list_paper_methods(data: str, lengths: Sequence[int]) -> ListCases:
    """Return a function that lists the nine methods of the paper's comparisons."""
    return lambda protocol: [
        *make_both(protocol, data, BASE_SET_METHODS, lengths),
        *make_cases(protocol, data, OTHER_METHODS, lengths),
    ]


def list_comparison(data: str) -> ListCases:
    """Return a function that lists Fig. 6 or Fig. 9: the nine methods, and the exact scan."""
    return lambda protocol: [
        *list_paper_methods(data, CODE_LENGTHS)(protocol),
        _make_scan(protocol, data),
    ]


def list_embeddings(protocol: Protocol) -> list[Case]:
    """List Fig. 3: manifold methods within IMH, PCAH, and the exact scan."""
    names = [f"IMH-{name}" for name in EMBEDDINGS]
    return [
        *make_both(protocol, "cifar10", names, CODE_LENGTHS),
        *make_cases(protocol, "cifar10", ["PCAH"], CODE_LENGTHS),
        _make_scan(protocol, "cifar10"),
    ]


def _make_scan(
    protocol: Protocol, data: str, measure: str = "scan", n_queries: int | None = None
) -> Case:
    return Case(data, SCAN, 0, 0, *protocol.find_size(data, n_queries), measure)


def list_million_rows(*sets: str) -> ListCases:
    """Return a function that lists Fig. 10 or Fig. 11."""
    settings: dict[str, Any] = {"n_base_points": 1000, "n_neighbors": 2}
    return lambda protocol: [
        case
        for data in sets
        for case in (
            *make_both(protocol, data, BASE_SET_METHODS, CODE_LENGTHS, **settings),
            *make_cases(protocol, data, OTHER_METHODS, CODE_LENGTHS),
        )
    ]


def list_classification(protocol: Protocol) -> list[Case]:
    """List Fig. 12: an SVM on the codes, and on the pixels."""
    size: dict[str, Any] = {"measure": "classification", "n_queries": 10_000}
    return [
        *make_both(protocol, "mnist", BASE_SET_METHODS, CODE_LENGTHS, n_base_points=1000, **size),
        *make_cases(protocol, "mnist", OTHER_METHODS, CODE_LENGTHS, **size),
        _make_scan(protocol, "mnist", "classification", 10_000),
    ]


def list_rotations(protocol: Protocol) -> list[Case]:
    """List Fig. 13: IMH with and without ITQ."""
    plain, rotated = ("IMH-tSNE", "IMH-LE"), ("IMH-tSNE-ITQ", "IMH-LE-ITQ")
    published = [name_in_column(name, PUBLISHED) for name in (*plain, *rotated)]
    ours = [name_in_column(name, BITFOLD) for name in plain]
    return [
        case
        for data in ("mnist", "cifar10")
        for make in (partial(make_cases, protocol, data, lengths=CODE_LENGTHS),)
        for case in (
            *make(published),
            *make(ours),
            *make(ours, rotation="none"),
            *make(["ITQ"]),
        )
    ]


def list_supervised(protocol: Protocol) -> list[Case]:
    """List Fig. 14: methods that learn from labels, and IMH."""
    rivals = ["SSH", "KSH", "CCA-ITQ"]
    ours = name_in_column("IMHs", BITFOLD)
    return [
        case
        for data in ("mnist", "cifar10")
        for case in (
            *make_cases(protocol, data, [name_in_column("IMHs", PUBLISHED),
                                         name_in_column("IMHs-ITQ", PUBLISHED), ours],
                        [SUPERVISED_BITS]),
            *make_cases(protocol, data, [ours], [SUPERVISED_BITS], rotation="none"),
            *make_both(protocol, data, ["IMH-tSNE"], [SUPERVISED_BITS, *CODE_LENGTHS]),
            *make_cases(protocol, data, rivals, [SUPERVISED_BITS, *CODE_LENGTHS]),
        )
    ]  # fmt: skip


def list_base_methods(protocol: Protocol) -> list[Case]:
    """List Table I: how the base set is chosen."""
    lengths = (64,) if protocol.quick else (32, 64, 96)
    imh = ("IMH-LE_B", "IMH-LE", "IMH-tSNE")
    return [
        *make_both(protocol, "cifar10", [*imh, "AGH"], lengths, base="kmeans"),
        *(
            case
            for base in ("kmedoids", "random")
            for case in make_both(protocol, "cifar10", imh, lengths, base=base)
        ),
    ]


def list_base_sizes(protocol: Protocol) -> list[Case]:
    """List Table II: the size of the base set."""
    sizes = QUICK_SIZES if protocol.quick else BASE_SIZES
    return [
        case
        for data in ("cifar10", "mnist")
        for m in sizes
        for case in make_both(protocol, data, ["IMH-tSNE"], [64], n_base_points=m)
    ]


def list_other_queries(protocol: Protocol) -> list[Case]:
    """List the main comparison at 64 bits with the queries of the report, and with others."""
    return [
        case
        for data in ("mnist", "cifar10")
        for name in (data, f"{data}{OTHER_QUERIES}")
        for case in make_both(protocol, name, ["IMH-tSNE", "IMH-LE", "AGH"], [64])
    ]


def list_unit_rows(protocol: Protocol) -> list[Case]:
    """List the methods without a base set at 64 bits, on the rows and on rows of unit length."""
    names = [name + ending for name in OTHER_METHODS for ending in ("", ON_UNIT_ROWS)]
    return [
        case for data in ("mnist", "cifar10") for case in make_cases(protocol, data, names, [64])
    ]


def list_sizes_and_neighbors(protocol: Protocol) -> list[Case]:
    """List Fig. 4: the size of the base set, and the neighbors in it."""
    sizes = QUICK_SIZES if protocol.quick else FIGURE_SIZES
    neighbors = (2,) if protocol.quick else FIGURE_NEIGHBORS
    settings = [*((m, 5) for m in sizes), *((400, k) for k in neighbors)]
    names = ["IMH-tSNE", "IMH-LE", "IMH-LE_B", "AGH"]
    return [
        case
        for m, k in settings
        for case in make_both(protocol, "cifar10", names, [64], n_base_points=m, n_neighbors=k)
    ]


def list_plane(protocol: Protocol) -> list[Case]:
    """List Fig. 5: MNIST in the plane."""
    return make_both(protocol.once, "mnist", ["IMH-tSNE"], [2], measure="plane")


def list_retrieved(protocol: Protocol) -> list[Case]:
    """List Fig. 8: retrieved images."""
    return [
        *make_both(protocol.once, "cifar10", BASE_SET_METHODS, [32], measure="retrieved"),
        *make_cases(protocol.once, "cifar10", OTHER_METHODS, [32], measure="retrieved"),
    ]


def list_digits(protocol: Protocol) -> list[Case]:
    """List Fig. 2: queries among 300 digits, all of which are the base set."""
    base: dict[str, Any] = {"base": "random", "n_base_points": 300}
    return make_both(protocol.once, "mnist", ["IMH-tSNE"], [48], measure="digits", **base)
