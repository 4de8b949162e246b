"""Run all benchmarks, or the named groups: ``python -m benchmarks core search``.

``stores``, which starts a Postgres server, ``distributed`` and ``scaling``, which start Dask
clusters, ``earlier``, which needs the history of the repository, ``onnx_export``, which needs
onnxruntime, and ``ubinary``, which needs sentence-transformers, run only when they are named.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.measuring import Ratio

GROUPS = [
    "core", "large", "hashers", "dual", "search", "radius", "collection", "metrics", "streaming",
    "explorer",
]  # fmt: skip
"""Groups that run by default."""

NAMED_GROUPS = ["stores", "distributed", "scaling", "earlier", "onnx_export", "ubinary"]
"""Groups that run only when they are named."""


def print_table(console: Console, group: str, ratios: list[Ratio]) -> None:
    """Print the results of one group."""
    table = Table("measurement", "value", "bound", "", "details", title=group, title_justify="left")
    for ratio in ratios:
        bound = f"{'≥' if ratio.at_least else '≤'} {ratio.bound:g}"
        mark = "[green]kept" if ratio.is_kept else "[red]missed"
        table.add_row(ratio.name, f"{ratio.value:.3g}", bound, mark, ratio.note)
    console.print(table)


def main() -> int:
    """Run the groups and print their results; return 1 if a bound was missed."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    known = [*GROUPS, *NAMED_GROUPS]
    parser.add_argument("groups", nargs="*", metavar="group", help=f"among {', '.join(known)}")
    groups = parser.parse_args().groups or GROUPS
    for group in groups:
        if group not in known:
            parser.error(f"unknown group {group!r}; choose among {', '.join(known)}")
    console = Console(width=150)
    n_missed = 0
    for group in groups:
        ratios = importlib.import_module(f"benchmarks.{group}").run()
        print_table(console, group, ratios)
        n_missed += sum(not ratio.is_kept for ratio in ratios)
    return min(n_missed, 1)


if __name__ == "__main__":
    sys.exit(main())
