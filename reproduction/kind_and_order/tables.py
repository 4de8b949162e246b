"""Markdown tables of splits, weights and base sets; the best value of a column is bold."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.kind_and_order.cases import AUTO, N_BITS, N_COARSE_BITS
from reproduction.kind_and_order.summary import Fit, Values, list_measures, list_splits
from reproduction.report.tables import NO_VALUE
from reproduction.which_code.measure import ASYMMETRIC, HAMMING
from reproduction.which_code.tables import make_table

HEADS = {
    "map": "MAP",
    "precision_10": "P@10",
    "precision_100": "P@100",
    "recall_10": "recall@10",
    "rescored_40": "in first 40",
}
"""Heads of the columns by measure."""


def make_split_table(fits: Sequence[Fit], n_bits: int, exact: Values) -> str:
    """Return the quality by number of coarse bits: asymmetric, then by Hamming distance."""
    shown = list_splits(fits, n_bits)
    measures = [name for name in list_measures(shown) if name != "rescored_40"]
    heads = [HEADS[name] for name in measures]
    columns = [
        cells
        for ranking in (ASYMMETRIC, HAMMING)
        for cells in _format_columns([f.find_values(n_bits, ranking) for f in shown], measures)
    ]
    names = [f"{fit.setting.n_coarse_bits} + {n_bits - fit.setting.n_coarse_bits}" for fit in shown]
    lines = _join(names, columns)
    if exact:
        lines.append(
            [
                "exact vectors",
                *(f"{exact[name]:.1f}" for name in measures),
                *[NO_VALUE] * len(measures),
            ]
        )
    return make_table(
        ["coarse + fine bits", *heads, *(f"Hamming: {head}" for head in heads)], lines
    )


def make_weight_table(fits: Sequence[Fit]) -> str:
    """Return the quality of an asymmetric search by weight; nothing if it was not measured."""
    fit = next((fit for fit in fits if fit.setting.is_weighted), None)
    if fit is None:
        return ""
    measures = list_measures(fits)
    values = [fit.find_values(N_BITS, ASYMMETRIC, weight) for weight in fit.weights]
    names = [f"{weight:g}" for weight in fit.weights]
    heads = ["`coarse_weight`", *(HEADS[name] for name in measures)]
    return make_table(heads, _join(names, _format_columns(values, measures)))


def make_base_table(fits: Sequence[Fit]) -> str:
    """Return the quality of an asymmetric search and the time to fit by number of base points."""
    shown = [fit for fit in fits if fit.setting.n_coarse_bits == N_COARSE_BITS]
    shown.sort(key=lambda fit: fit.setting.n_base_points == AUTO)
    measures = [name for name in list_measures(fits) if name != "rescored_40"]
    values = [fit.find_values(N_BITS, ASYMMETRIC) for fit in shown]
    columns = [*_format_columns(values, measures), [_format_seconds(fit) for fit in shown]]
    heads = ["base points", *(HEADS[name] for name in measures), "fit, CPU s"]
    return make_table(heads, _join([_name_size(fit) for fit in shown], columns))


def _name_size(fit: Fit) -> str:
    size = f"{fit.n_base_points:,}"
    return f'"auto": {size}' if fit.setting.n_base_points == AUTO else size


def _format_seconds(fit: Fit) -> str:
    return NO_VALUE if fit.cpu_seconds is None else f"{fit.cpu_seconds:.0f}"


def _format_columns(values: Sequence[Values], measures: Sequence[str]) -> list[list[str]]:
    """Return one column per measure, with its best value in bold."""
    columns = []
    for name in measures:
        cells = [f"{row[name]:.1f}" for row in values]
        best = max(cells, key=float)
        columns.append([f"**{cell}**" if cell == best else cell for cell in cells])
    return columns


def _join(names: Sequence[str], columns: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[name, *cells] for name, *cells in zip(names, *columns, strict=True)]
