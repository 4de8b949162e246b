"""Axes of the figures with one line per method."""

from __future__ import annotations

from reproduction.records import Case
from reproduction.report.line_figures import Measure, Panel, draw_grid
from reproduction.report.points import get_n_bits
from tests.reproduction.fake_records import make_record


def test_a_logarithmic_axis_shows_the_values_of_all_its_panels() -> None:
    measure = Measure("map", "MAP %", "log", floor=0.1)
    small, large = ([make_record(Case("mnist", "ITQ", 64), value)] for value in (1.0, 90.0))
    panels = [Panel("", "bits", records, measure, get_n_bits) for records in (small, large)]
    low, high = draw_grid("Figure", [panels]).axes[0].get_ylim()
    assert low < 0.1
    assert high > 90
