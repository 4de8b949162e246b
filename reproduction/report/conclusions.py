"""The first screen of the report: the conclusions, with their figures taken from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reproduction.columns import BITFOLD, PUBLISHED, select_column
from reproduction.experiments.methods import PAPER_METHODS, SCAN
from reproduction.paper import reported
from reproduction.paper.checks import Measured, MissingRecordsError, NoSuchCodesError, Setting
from reproduction.paper.reported import BASE_SIZES
from reproduction.shared_types import Record

Find = Callable[[str, str, str, str, Setting], float]
"""Returns a mean: artifact, column, measure, data set, setting."""


def list_conclusions(records: Mapping[str, list[Record]]) -> list[str]:
    """Return the conclusions whose records exist, one sentence or two each."""
    known: dict[tuple[str, str], Measured] = {}

    def find(artifact: str, column: str, measure: str, data: str, setting: Setting) -> float:
        key = artifact, column
        if key not in known:
            known[key] = Measured(select_column(records.get(artifact, []), column))
        return known[key].mean(measure, data, setting).mean

    return [text for make in _CONCLUSIONS for text in _try(make, find)]


def _try(make: Callable[[Find], str], find: Find) -> Iterable[str]:
    try:
        return [make(find)]
    except (MissingRecordsError, NoSuchCodesError):
        return []


def _with_base(method: str, n_bits: int) -> Setting:
    return Setting(method, n_bits, (("base", "kmeans"),))


def _of_size(m: int) -> Setting:
    return Setting("IMH-tSNE", 64, (("n_base_points", m),))


def _compare_table_one(find: Find) -> str:
    cells = [(n, m) for n in (32, 64, 96) for m in ("AGH", "IMH-LE", "IMH-tSNE")]
    differences = [
        find("table-base-method", PUBLISHED, "map", "cifar10", _with_base(method, n_bits))
        - reported.BASE_METHOD[n_bits, "kmeans", method].mean
        for n_bits, method in cells
    ]
    worst = max(range(len(cells)), key=lambda i: abs(differences[i]))
    n_bits, method = cells[worst]
    return (
        "With the authors' settings the K-means rows of Table I come out: of nine values of AGH, "
        f"IMH-LE and IMH-tSNE the largest difference is {differences[worst]:+.2f} MAP % ({method}, "
        f"{n_bits} bits)."
    )


def _compare_table_two(find: Find) -> str:
    values = [
        f"{find('table-base-size', PUBLISHED, 'map', 'mnist', _of_size(m)):.1f} "
        f"(paper {reported.BASE_SIZE['mnist'][BASE_SIZES.index(m)]:.1f})"
        for m in (100, 400, 1000)
    ]
    return f"MNIST with 100, 400 and 1,000 base points: MAP {', '.join(values)} %."


def _state_main_result(find: Find) -> str:
    parts = []
    for artifact, data in (("fig-mnist", "mnist"), ("fig-cifar", "cifar10")):
        values = {
            name: find(artifact, PUBLISHED, "map", data, Setting(name, 64))
            for name in PAPER_METHODS
        }
        own = values.pop("IMH-tSNE")
        best = max(values, key=values.__getitem__)
        name = reported.DATA_NAMES[data]
        parts.append(f"{own:.1f} against {values[best]:.1f} ({best}) on {name}")
    return "MAP of IMH-tSNE at 64 bits, against the best other method: " + ", ".join(parts) + "."


def _state_scan(find: Find) -> str:
    codes = find("fig-embeddings", PUBLISHED, "map", "cifar10", Setting("IMH-tSNE", 64))
    scan = find("fig-embeddings", PUBLISHED, "map", "cifar10", Setting(SCAN, 0))
    return (
        f"64 bits rank CIFAR-10 better than an exact scan of the vectors: MAP {codes:.1f} against "
        f"{scan:.1f} %."
    )


def _state_classification(find: Find) -> str:
    ours = find("fig-classify", PUBLISHED, "accuracy", "mnist", Setting("IMH-tSNE", 128))
    rest, pairs = (
        find("fig-classify", PUBLISHED, measure, "mnist", Setting(SCAN, 0))
        for measure in ("accuracy", "accuracy_ovo")
    )
    return (
        f"A linear SVM classifies 128 bits of MNIST with {ours:.1f} % (paper 94.1), the pixels "
        f"with {pairs:.1f} % one-versus-one and {rest:.1f} % one-versus-rest (paper 94.1)."
    )


def _state_bitfold(find: Find) -> str:
    parts = []
    for data in ("mnist", "cifar10"):
        theirs, ours = (
            find("table-base-size", column, "map", data, _of_size(400))
            for column in (PUBLISHED, BITFOLD)
        )
        parts.append(f"from {theirs:.1f} to {ours:.1f} on {reported.DATA_NAMES[data]}")
    return (
        "bitfold's defaults (a graph counted in the data, ITQ, a narrower bandwidth) change MAP at "
        f"64 bits with 400 base points {' and '.join(parts)}."
    )


def _state_bitfold_sizes(find: Find) -> str:
    values = [
        find("table-base-size", column, "map", "mnist", _of_size(2000))
        for column in (PUBLISHED, BITFOLD)
    ]
    return (
        f"With 2,000 base points on MNIST: {values[0]:.1f} as published, {values[1]:.1f} bitfold."
    )


_CONCLUSIONS: list[Callable[[Find], str]] = [
    _compare_table_one,
    _compare_table_two,
    _state_main_result,
    _state_scan,
    _state_classification,
    _state_bitfold,
    _state_bitfold_sizes,
]
