"""The figure on the first screen of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.report.line_figures import explain_error_bars
from reproduction.report.table_figures import draw_size_curves
from reproduction.report.table_presentation import make_size_panels
from reproduction.shared_types import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_overview(records: list[Record]) -> Figure:
    """Draw MAP of IMH-tSNE by the size of the base set: the paper, as published, bitfold."""
    heading = "IMH-tSNE, 64 bits: the paper, its settings reproduced, and bitfold"
    note = f"{explain_error_bars(records)} Relevant: images of the same class as the query."
    return draw_size_curves(heading, make_size_panels(records), "MAP %", note)
