"""How records are presented."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from reproduction.artifacts import ARTIFACTS
from reproduction.columns import BITFOLD, PUBLISHED, name_in_column
from reproduction.experiments.methods import SCAN
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.report.line_figures import Measure
from reproduction.report.presentation import present_by_length
from tests.reproduction.fake_records import make_record

PRESENT_MAP = present_by_length(Measure("map", "MAP %"))


def test_classified_pixels_have_a_line_per_kind_of_svm() -> None:
    cases = [Case("mnist", "ITQ", n, measure="classification") for n in (16, 64)]
    cases.append(Case("mnist", SCAN, 0, measure="classification"))
    present = present_by_length(Measure("accuracy", "accuracy %", "error"))
    (figure,) = present("Fig. 12", [make_record(case) for case in cases]).figures.values()
    labels = set(figure.axes[0].get_legend_handles_labels()[1])
    assert labels == {"ITQ", "raw pixels, one-versus-rest", "raw pixels, one-versus-one"}


def test_scan_is_a_dashed_line_without_markers() -> None:
    cases = [Case("cifar10", "ITQ", n) for n in (16, 128)] + [Case("cifar10", SCAN, 0)]
    shown = PRESENT_MAP("Fig. 3", [make_record(case) for case in cases])
    (figure,) = shown.figures.values()
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == SCAN]
    assert line.get_linestyle() == "--"
    assert line.get_marker() in ("", "None")
    assert figure.axes[0].get_ylabel() == "MAP %"
    assert figure.get_suptitle() == "Fig. 3 · CIFAR-10"
    (table,) = shown.tables
    values = [f"{make_record(case)['result']['map']:.2f}" for case in cases]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["ITQ", *values[:2], "1"],
        [SCAN, values[2], values[2], "1"],
    ]


def test_both_columns_have_a_panel() -> None:
    names = ["ITQ", *(name_in_column("AGH", column) for column in (PUBLISHED, BITFOLD))]
    cases = [Case("mnist", name, n, seed) for name in names for n in (16, 64) for seed in (0, 1)]
    shown = PRESENT_MAP("Fig. 9", [make_record(case) for case in cases])
    (figure,) = shown.figures.values()
    assert [axes.get_title() for axes in figure.axes] == [PUBLISHED, BITFOLD]
    for axes in figure.axes:
        assert axes.get_legend_handles_labels()[1] == ["AGH", "ITQ"]
    assert "sample standard deviation over 2 seeds" in " ".join(figure.get_supxlabel().split())
    assert [row[0].text for row in shown.tables[0].rows] == [
        "ITQ", "AGH, as published", "AGH, bitfold",
    ]  # fmt: skip


def test_methods_have_the_same_color_in_every_figure() -> None:
    colors: dict[str, set[str]] = {}
    for name in ("fig-cifar", "fig-mnist", "fig-embeddings", "fig-itq", "fig-supervised"):
        records = [make_record(case) for case in ARTIFACTS[name].cases(Protocol(1))]
        for figure in ARTIFACTS[name].present("", records).figures.values():
            for axes in figure.axes:
                for container in axes.containers:
                    assert isinstance(container, ErrorbarContainer)
                    label = str(container.get_label())
                    colors.setdefault(label, set()).add(str(container.lines[0].get_color()))
    assert {"IMH-tSNE", "ITQ", "KSH", "IMH-LE_B"} <= colors.keys()
    assert all(len(own) == 1 for own in colors.values())


def test_rotations_of_bitfold_are_named() -> None:
    name = name_in_column("IMH-tSNE", BITFOLD)
    cases = [Case("mnist", name, 64, options=options) for options in ((), (("rotation", "none"),))]
    shown = PRESENT_MAP("Fig. 13", [make_record(case) for case in cases])
    assert [row[0].text for row in shown.tables[0].rows] == [
        "IMH-tSNE-ITQ, bitfold",
        "IMH-tSNE, bitfold",
    ]


def test_a_method_with_one_length_has_a_dashed_line() -> None:
    cases = [Case("mnist", "KSH", n) for n in (9, 16)] + [Case("mnist", "IMHs", 9)]
    (figure,) = PRESENT_MAP("Fig. 14", [make_record(case) for case in cases]).figures.values()
    assert "--" in [line.get_linestyle() for line in figure.axes[0].lines]


def test_values_below_the_floor_are_drawn_at_it() -> None:
    cases = [Case("mnist", "ITQ", n, seed) for n in (16, 64) for seed in (0, 1)]
    present = present_by_length(Measure("f1", "F1 within radius 2", "log", 1e-4))
    (figure,) = present("Fig. 9", [make_record(case, 0.0) for case in cases]).figures.values()
    (container,) = figure.axes[0].containers
    assert isinstance(container, ErrorbarContainer)
    assert np.asarray(container.lines[0].get_ydata()).tolist() == [1e-4, 1e-4]
    assert "F1 below 0.0001 is drawn" in " ".join(figure.get_supxlabel().split())


def test_legends_have_one_order() -> None:
    """The order of the legend is not that in which panels happen to have the methods."""
    published = [name_in_column(name, PUBLISHED) for name in ("IMH-tSNE", "AGH")]
    cases = [Case("mnist", "ITQ", 16), *(Case("mnist", name, 64) for name in published)]
    records = [make_record(case) for case in cases]
    (figure,) = ARTIFACTS["supplement"].present("Supplement", records).figures.values()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["IMH-tSNE", "AGH", "ITQ"]


def test_comparisons_have_a_line_of_the_exact_scan() -> None:
    for name in ("fig-cifar", "fig-mnist"):
        records = [make_record(case) for case in ARTIFACTS[name].cases(Protocol(2))]
        (figure,) = ARTIFACTS[name].present("", records).figures.values()
        lines = [line for line in figure.axes[0].lines if line.get_label() == SCAN]
        assert [line.get_linestyle() for line in lines] == ["--"]
        # It has one seed because it has no randomness.
        assert "over 2 seeds" in " ".join(figure.get_supxlabel().split())


def test_short_logarithmic_axes_have_labels_that_do_not_touch() -> None:
    cases = ARTIFACTS["table-time"].cases(Protocol(1))
    records = [make_record(case, 0.002) for case in cases if case.method in ("SH", "PCAH", "ITQ")]
    (figure,) = ARTIFACTS["table-time"].present("Table III", records).figures.values()
    for axes in figure.axes:
        low, high = axes.get_xlim()
        axis = axes.xaxis
        assert not any(axis.get_minor_formatter().format_ticks(list(axis.get_minorticklocs())))
        assert sum(low <= tick <= high for tick in axis.get_majorticklocs()) >= 2


def test_recall_has_logarithmic_axes() -> None:
    """Curves of recall coincide on linear axes."""
    records = [make_record(case) for case in ARTIFACTS["fig-cifar-pr"].cases(Protocol(1))]
    (figure,) = ARTIFACTS["fig-cifar-pr"].present("Fig. 7", records).figures.values()
    (panel,) = (axes for axes in figure.axes if axes.get_title() == f"recall, {PUBLISHED}")
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert [min(np.asarray(line.get_xdata())) for line in panel.lines] == [10_000] * 9
    assert "Recall is drawn from 1,000 items" in " ".join(figure.get_supxlabel().split())


def test_times_have_error_bars_and_those_of_the_paper_do_not() -> None:
    cases = [c for c in ARTIFACTS["table-time"].cases(Protocol(3)) if c.method in ("SH", "ITQ")]
    records = [make_record(case, 2.0 + case.seed) for case in cases]
    records += [
        {"case": {**records[0]["case"], "seed": 3}, "result": {"map": 1.0}}  # without times
    ]
    (figure,) = ARTIFACTS["table-time"].present("Table III", records).figures.values()
    for axes in figure.axes:
        bars = {c.get_label(): c for c in axes.containers if isinstance(c, ErrorbarContainer)}
        assert bars[PUBLISHED].has_xerr
        assert not bars["paper"].has_xerr
        assert not bars["paper"].lines[1]
    note = " ".join(figure.get_supxlabel().split())
    assert "sample standard deviation over 3 seeds. The paper states none." in note


def test_curves_that_coincide_have_logarithmic_axes() -> None:
    for name in ("fig-cifar", "fig-mnist", "fig-sift", "fig-gist", "fig-itq", "fig-supervised"):
        cases = [case for case in ARTIFACTS[name].cases(Protocol(1)) if case.n_bits in (16, 64)]
        for figure in ARTIFACTS[name].present("", list(map(make_record, cases))).figures.values():
            for axes in figure.axes:
                if "radius 2" in axes.get_ylabel():
                    assert axes.get_yscale() == "log"


def test_other_queries_have_a_panel_per_data_set() -> None:
    """MAP of both data sets on one axis would hide differences of one percent."""
    records = [make_record(case) for case in ARTIFACTS["other-queries"].cases(Protocol(1))]
    (figure,) = ARTIFACTS["other-queries"].present("Check", records).figures.values()
    assert [axes.get_title() for axes in figure.axes] == ["CIFAR-10", "MNIST"]
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels[:2] == ["IMH-tSNE, the report's queries", "IMH-tSNE, other queries"]


def test_base_set_and_digits_are_at_the_same_places() -> None:
    records = [make_record(case) for case in ARTIFACTS["fig-2d"].cases(Protocol(1))]
    (figure,) = ARTIFACTS["fig-2d"].present("Fig. 5", records).figures.values()
    assert {(*axes.get_xlim(), *axes.get_ylim()) for axes in figure.axes} == {(0, 1200, 0, 1200)}


def test_stated_values_are_compared() -> None:
    cases = ARTIFACTS["fig-classify"].cases(Protocol(2))
    records = [make_record(case, 95.0) for case in cases]
    shown = ARTIFACTS["fig-classify"].present("Fig. 12", records)
    assert [value.difference for value in shown.compared] == pytest.approx([0.9] * 4)
    assert [row[0].text for row in shown.tables[0].rows] == [
        "IMH-tSNE, 128 bits, one-versus-rest, MNIST",
        "IMH-tSNE, 128 bits, one-versus-one, MNIST",
        "raw pixels, one-versus-rest, MNIST",
        "raw pixels, one-versus-one, MNIST",
    ]
