"""The table of targets for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Column, Table

from reproduction.paper.targets import TargetResult

_NUMBERS = ("paper", "here", "95 % interval", "difference", "allowed", "seeds")


def make_target_table(results: Iterable[TargetResult]) -> Table:
    """Return a table with one row per target."""
    columns = (Column(head, justify="right") for head in _NUMBERS)
    table = Table("as published", *columns, "met")
    for result in results:
        table.add_row(*_format_row(result))
    return table


def _format_row(result: TargetResult) -> list[str]:
    target, reached = result.target, result.reached
    upper = f"+{target.above:g}" if target.above < 100 else ""
    allowed = f"-{target.below:g} {upper}".strip()
    if reached is None:
        return [target.title, f"{target.paper:g}", "", "", "", allowed, "0", "not run yet"]
    interval = "" if result.n_seeds < 2 else f"{reached.low:.2f} to {reached.high:.2f}"
    difference = f"{reached.mean - target.paper:+.2f}"
    return [
        target.title, f"{target.paper:g}", f"{reached.mean:.2f}", interval, difference, allowed,
        str(result.n_seeds), "yes" if result.is_met else "no",
    ]  # fmt: skip
