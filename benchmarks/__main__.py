"""Run all benchmarks, or those named: ``python -m benchmarks core``.

``stores``, which starts a Postgres, ``distributed`` and ``scaling``, which start Dask clusters, run
only when named.
"""

from __future__ import annotations

import importlib
import sys

from rich.console import Console
from rich.table import Table

from benchmarks._harness import Ratio

GROUPS = ["core", "large", "hashers", "search", "metrics", "streaming"]


def show(console: Console, group: str, ratios: list[Ratio]) -> None:
    """Print one group as a table."""
    table = Table("hot path", "ratio", "bound", "", "how", title=group, title_justify="left")
    for r in ratios:
        bound = f"{'≥' if r.at_least else '≤'} {r.bound:g}"
        mark = "[green]kept" if r.kept else "[red]missed"
        table.add_row(r.what, f"{r.value:.3g}", bound, mark, r.note)
    console.print(table)


def main() -> int:
    """Run and print; the exit code tells whether every bound was kept."""
    console = Console(width=150)
    missed = 0
    for group in sys.argv[1:] or GROUPS:
        ratios = importlib.import_module(f"benchmarks.{group}").run()
        show(console, group, ratios)
        missed += sum(not r.kept for r in ratios)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
