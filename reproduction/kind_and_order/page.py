"""The page "Kind and order", from records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reproduction.data.loader import DataLoader
from reproduction.kind_and_order.cases import AUTO, DATA, N_COARSE_BITS, SPLITS
from reproduction.kind_and_order.charts import Curves, write_chart
from reproduction.kind_and_order.summary import (
    Fit,
    find_exact,
    find_sizes,
    list_fits,
    list_splits,
)
from reproduction.kind_and_order.tables import (
    HEADS,
    make_base_table,
    make_split_table,
    make_weight_table,
)
from reproduction.kind_and_order.text import BASE_SETS, HEAD, METHOD, SPLIT, WEIGHT
from reproduction.records import Case, RunRecords
from reproduction.runner import run_missing_cases
from reproduction.shared_types import Record
from reproduction.which_code.measure import ASYMMETRIC

NAMES = {
    "text": "Debian descriptions",
    "mnist": "MNIST",
    "sift_photos": "SIFT-1M-photos",
    "cifar10": "CIFAR-10",
}
KINDS = {
    "text": "sentence vectors",
    "mnist": "images",
    "sift_photos": "SIFT descriptors",
    "cifar10": "GIST descriptors",
}
"""Names of the data sets, and what their vectors are."""

CHART = "images/kind-and-order/splits.png"


def run_kind_and_order(docs: Path, cases: list[Case]) -> list[Record]:
    """Run the cases that have no record in the file of the page; return all of its records."""
    records = RunRecords(docs / "kind-and-order.jsonl")
    run_missing_cases(cases, records, DataLoader())
    return list(records)


def write_kind_and_order(records: Iterable[Record], docs: Path) -> Path:
    """Draw the figure, write the page, and return its path."""
    known = list(records)
    curves = {
        NAMES[data]: Curves(list_fits(known, data), find_exact(known, data))
        for data in _list_data(known)
    }
    write_chart(curves, docs / CHART)
    return write_page(known, docs)


def write_page(records: Iterable[Record], docs: Path) -> Path:
    """Write the page without drawing its figure."""
    path = docs / "kind-and-order.md"
    path.write_text(make_page(list(records)), encoding="utf-8")
    return path


def make_page(records: list[Record]) -> str:
    """Return the page, with the data sets that have records."""
    fits = {data: list_fits(records, data) for data in _list_data(records)}
    return "\n".join(
        [
            HEAD,
            SPLIT.format(chart=CHART),
            *(_show_splits(records, data, own) for data, own in fits.items()),
            WEIGHT,
            *(_show_table(data, make_weight_table(own)) for data, own in fits.items()),
            BASE_SETS,
            *(_show_base_sets(data, own) for data, own in fits.items()),
            METHOD,
        ]
    )


def _list_data(records: list[Record]) -> list[str]:
    """Return the data sets that have at least one split of each length."""
    return [
        data
        for data in DATA
        if all(list_splits(list_fits(records, data), n_bits) for n_bits in SPLITS)
    ]


def _show_splits(records: list[Record], data: str, fits: list[Fit]) -> str:
    n_items, n_features, n_queries = find_sizes(records, data)
    exact = find_exact(records, data)
    tables = "\n".join(
        f"{n_bits} bits. {_name_best(fits, n_bits)}\n\n{make_split_table(fits, n_bits, exact)}"
        for n_bits in SPLITS
    )
    return (
        f"**{NAMES[data]}: {n_items:,} {KINDS[data]} of {n_features} numbers, {n_queries:,} "
        f"queries**\n\n{tables}"
    )


def _name_best(fits: list[Fit], n_bits: int) -> str:
    """Say which number of coarse bits is best for P@10 and for recall@10."""
    splits, best = list_splits(fits, n_bits), {}
    for measure in ("precision_10", "recall_10"):
        values = {fit.setting.n_coarse_bits: fit.find_values(n_bits, ASYMMETRIC) for fit in splits}
        if measure in next(iter(values.values())):
            best[HEADS[measure]] = max(values, key=lambda n: values[n][measure])
    sizes = list(best.values())
    if sizes == 2 * sizes[:1]:
        return f"{' and '.join(best)} are both highest with {sizes[0]} coarse bits."
    parts = [f"{head} is highest with {size}" for head, size in best.items()]
    sentence = f"{', '.join(parts)} coarse bits."
    return sentence[0].upper() + sentence[1:]


def _show_table(data: str, table: str) -> str:
    return f"{NAMES[data]}:\n\n{table}" if table else ""


def _show_base_sets(data: str, fits: list[Fit]) -> str:
    """Return the table of a data set, and what "auto" chose."""
    chosen = [fit for fit in fits if fit.setting == (N_COARSE_BITS, AUTO)]
    shown = [fit for fit in fits if fit.setting.n_coarse_bits == N_COARSE_BITS]
    if not chosen or len(shown) == 1:
        return ""
    return f'{_show_table(data, make_base_table(fits))}\n"auto" chose {chosen[0].reason}\n'
