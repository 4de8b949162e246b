"""The page that compares all methods on MNIST and on synthetic manifolds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from reproduction.data.loader import DataLoader
from reproduction.experiments.methods import COMPARED_METHODS, METHODS
from reproduction.records import Case, RunRecords
from reproduction.report.tables import NO_VALUE
from reproduction.runner import run_missing_cases
from reproduction.shared_types import Record

DATA = ("mnist", "manifold-10", "manifold-16", "manifold-32", "manifold-64")
CODE_LENGTHS = (16, 32, 64, 128)
SUPERVISED_LENGTH = 9
"""Code length of the methods that learn from labels: the most that IMHs has with ten classes."""


class Measure(NamedTuple):
    """An entry of a result, its title, and its number of decimals."""

    name: str
    title: str
    n_digits: int


MEASURES = (
    Measure("map", "MAP, percent", 1),
    Measure("f1", "F1 in radius 2", 2),
    Measure("fit_seconds", "Seconds to fit", 1),
    Measure("encode_us", "Microseconds to encode one row", 1),
)

NEWER_METHODS = {"SDH", "FSDH", "MahalanobisLSH"}
"""Methods that are not on the page: they were not measured with its settings."""

HEAD = """# All methods side by side

Tie-aware mean average precision of Hamming ranking, F1 of lookup within radius 2, seconds to fit,
and microseconds to encode one row, by code length. Made by `make compare` on 2 cores, with one seed
and default settings except as named: IMH is the default, whose number of base points depends on the
data; IMH-… and AGH have the paper's 400 base points, its graph and 5 nearest base points; `-2`
means two layers, `-ITQ` the learned rotation, IMHs the supervised form of IMH. The last six methods
learn from labels. They are also run at 9 bits, the most that IMHs can have with ten classes. Other
dashes are lengths that a method cannot have.

Several defaults were chosen by MAP on MNIST with these same queries (those of IMH, AGH, LLH, KSH,
BRE, SSH and RMMH), so that their results on MNIST are somewhat optimistic.
"""

TITLES = {"mnist": "MNIST: 69,000 digits of 784 pixels, 1,000 queries"}


def list_cases() -> list[Case]:
    """Return the cases of the page."""
    names = [name for name in COMPARED_METHODS if name not in NEWER_METHODS]
    supervised = [name for name in names if METHODS[name].uses_labels]
    settings = [
        *((name, n_bits) for name in names for n_bits in CODE_LENGTHS),
        *((name, SUPERVISED_LENGTH) for name in supervised),
    ]
    return [Case(data, name, n_bits) for data in DATA for name, n_bits in settings]


def run_comparison(docs: Path) -> list[Record]:
    """Run the cases that have no record in ``compare.jsonl``; return the records of all."""
    records = RunRecords(docs / "compare.jsonl")
    return run_missing_cases(list_cases(), records, DataLoader())


def write_comparison(records: Iterable[Record], docs: Path) -> Path:
    """Write the page, and return its path."""
    known = list(records)
    parts = [HEAD]
    for data in dict.fromkeys(record["case"]["data"] for record in known):
        own = [record for record in known if record["case"]["data"] == data]
        parts.append(f"## {_make_title(data)}\n")
        parts += [f"**{m.title}**\n\n{make_table(own, m)}" for m in MEASURES]
    path = docs / "comparison.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _make_title(data: str) -> str:
    kind, _, n_features = data.partition("-")
    if kind == "manifold":
        return f"Ten curved sheets in {n_features} dimensions: 9,000 points, 1,000 queries"
    return TITLES.get(data, data)


def make_table(records: list[Record], measure: Measure) -> str:
    """Return a Markdown table with one row per method and one column per code length."""
    values: dict[tuple[str, int], list[float]] = {}
    for record in records:
        setting = record["case"]["method"], record["case"]["n_bits"]
        found = values.setdefault(setting, [])
        if measure.name in record["result"]:
            found.append(record["result"][measure.name])
    methods = dict.fromkeys(method for method, _ in values)
    lengths = sorted({n_bits for _, n_bits in values})
    lines = [["method", *(f"{n} bits" for n in lengths)], ["---", *["---:"] * len(lengths)]]
    lines += [
        [method, *(_format_mean(values.get((method, n)), measure.n_digits) for n in lengths)]
        for method in methods
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _format_mean(values: list[float] | None, n_digits: int) -> str:
    if not values:
        return NO_VALUE
    mean = fmean(values)
    return f"{mean:.{0 if mean >= 100 else n_digits}f}"
