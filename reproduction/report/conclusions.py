"""The first screen of the report: the conclusions, with their figures taken from the records.

Each is one line of the page. The first one has the verdicts on the main claims, which are judged in
:mod:`reproduction.paper.statements`; the others state values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

from reproduction.columns import BITFOLD, PUBLISHED, select_column
from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.checks import (
    CODE_LENGTHS,
    Measured,
    MissingRecordsError,
    NoSuchCodesError,
    Setting,
)
from reproduction.paper.reported import BASE_SIZES
from reproduction.paper.statement import Outcome, Verdict
from reproduction.paper.statements.comparisons import OTHERS
from reproduction.paper.statements.supervised import N_BITS, RIVALS
from reproduction.shared_types import Record

NEAR = 0.6
"""MAP in percent up to which a value of Table I counts as reproduced."""

Find = Callable[[str, str, str, str, Setting], float]
"""Returns a mean: artifact, column, measure, data set, setting."""


_CLAIMS = (
    ("IMH-tSNE best in MAP", {"mnist-tsne-best-map": "MNIST", "cifar-best-IMH-tSNE": "CIFAR-10"}),
    ("IMH-LE", {"cifar-best-IMH-LE": "CIFAR-10"}),
    ("both in F1", {"sift_photos-superior-f1": "SIFT", "gist_cifar-superior-f1": "GIST"}),
)
"""The main claims, and the statement about each data set."""


def list_conclusions(
    records: Mapping[str, list[Record]], verdicts: Iterable[Verdict] = ()
) -> list[str]:
    """Return the conclusions whose records exist, one line each."""
    known: dict[tuple[str, str], Measured] = {}

    def find(artifact: str, column: str, measure: str, data: str, setting: Setting) -> float:
        key = artifact, column
        if key not in known:
            known[key] = Measured(select_column(records.get(artifact, []), column))
        return known[key].mean(measure, data, setting).mean

    outcomes = {verdict.statement.id: verdict.outcome for verdict in verdicts}
    return [*_state_claims(outcomes), *(t for make in _CONCLUSIONS for t in _try(make, find))]


def _state_claims(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return a line with the verdicts on the main claims; nothing if none was judged."""
    claims = []
    for claim, statements in _CLAIMS:
        names: dict[Outcome, list[str]] = {}
        for statement, name in statements.items():
            names.setdefault(outcomes.get(statement, Outcome.NOT_RUN), []).append(name)
        parts = [
            f"{outcome.value} on {' and '.join(names[outcome])}"
            for outcome in (Outcome.HOLDS, Outcome.FAILS)
            if outcome in names
        ]
        claims += [f"{claim}: {', '.join(parts)}"] if parts else []
    return [f"{'; '.join(claims)}."] if claims else []


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
    n_near = sum(abs(difference) <= NEAR for difference in differences)
    return (
        f"Table I, K-means: {n_near} of {len(cells)} values are within {NEAR:g} MAP % of the "
        f"paper's; the largest difference is {differences[worst]:+.2f} ({method}, {n_bits} bits)."
    )


def _compare_table_two(find: Find) -> str:
    sizes = (100, 400, 1000)
    ours = [find("table-base-size", PUBLISHED, "map", "mnist", _of_size(m)) for m in sizes]
    theirs = [reported.BASE_SIZE["mnist"][BASE_SIZES.index(m)] for m in sizes]
    return (
        "Table II, MNIST with 100, 400 and 1,000 base points: MAP "
        f"{_list_numbers(ours)} % (paper {_list_numbers(theirs)})."
    )


def _list_numbers(values: Sequence[float]) -> str:
    texts = [f"{value:.1f}" for value in values]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def _state_main_result(find: Find) -> str:
    """Compare with the methods of others alone: IMH-LE is the paper's own."""
    parts = []
    for artifact, data in (("fig-mnist", "mnist"), ("fig-cifar", "cifar10")):
        own, *others = (
            find(artifact, PUBLISHED, "map", data, Setting(name, 64))
            for name in ("IMH-tSNE", *OTHERS)
        )
        best = max(zip(others, OTHERS, strict=True))
        parts.append(f"{own:.1f} and {best[0]:.1f} ({best[1]}) on {reported.DATA_NAMES[data]}")
    return f"MAP at 64 bits, IMH-tSNE and the best method of others: {', '.join(parts)}."


def _state_scan(find: Find) -> str:
    codes = find("fig-embeddings", PUBLISHED, "map", "cifar10", Setting("IMH-tSNE", 64))
    scan = find("fig-embeddings", PUBLISHED, "map", "cifar10", Setting(SCAN, 0))
    return (
        f"MAP on CIFAR-10: {codes:.1f} with 64 bits of IMH-tSNE, {scan:.1f} with an exact scan of "
        "the vectors."
    )


def _state_classification(find: Find) -> str:
    ours = find("fig-classify", PUBLISHED, "accuracy", "mnist", Setting("IMH-tSNE", 128))
    rest, pairs = (
        find("fig-classify", PUBLISHED, measure, "mnist", Setting(SCAN, 0))
        for measure in ("accuracy", "accuracy_ovo")
    )
    return (
        f"SVM on MNIST: 128 bits {ours:.1f} %, pixels {pairs:.1f} % one-versus-one, {rest:.1f} % "
        f"one-versus-rest (paper {reported.CLASSIFICATION} for both)."
    )


def _state_supervised(find: Find) -> str:
    """Name the code length of the best rival, which may be longer."""
    parts = []
    for data in ("mnist", "cifar10"):
        own = find("fig-supervised", PUBLISHED, "map", data, Setting("IMHs-ITQ", N_BITS))
        value, name, n_bits = max(
            (find("fig-supervised", PUBLISHED, "map", data, Setting(name, n_bits)), name, n_bits)
            for name, n_bits in product(RIVALS, (N_BITS, *CODE_LENGTHS))
        )
        rival = f"{name}, {n_bits} bits: {value:.1f}"
        parts.append(f"{own:.1f} ({rival}) on {reported.DATA_NAMES[data]}")
    return f"MAP with labels, {N_BITS} bits of IMHs-ITQ: {', '.join(parts)}."


def _state_bitfold(find: Find) -> str:
    parts = []
    for data in ("mnist", "cifar10"):
        theirs, ours = (
            find("table-base-size", column, "map", data, _of_size(400))
            for column in (PUBLISHED, BITFOLD)
        )
        parts.append(f"from {theirs:.1f} to {ours:.1f} on {reported.DATA_NAMES[data]}")
    return f"bitfold's defaults, 64 bits, 400 base points: MAP {', '.join(parts)}."


_CONCLUSIONS: list[Callable[[Find], str]] = [
    _compare_table_one,
    _compare_table_two,
    _state_main_result,
    _state_scan,
    _state_classification,
    _state_supervised,
    _state_bitfold,
]
