"""Figures as files: the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from reproduction.report.figure_files import write_figure

from reproduction.report import figure_files


class UnsteadyLayout(ConstrainedLayoutEngine):
    """The layout engine with an error of a certain size, which is otherwise random and rare."""

    def __init__(self, error: float) -> None:
        super().__init__()
        self.error = error

    def execute(self, fig: Figure) -> None:
        super().execute(fig)
        for axes in fig.axes:
            x, y, width, height = axes.get_position(original=True).bounds
            place = (x + self.error, y - self.error, width + self.error, height)
            axes.set_position(place, which="original")
        for text in fig.texts:
            text.set_y(text.get_position()[1] + self.error)


def draw(folder: Path, error: float) -> tuple[bytes, bytes]:
    # Without rounding to odd steps, the title of a figure of this height lies between two steps.
    figure = Figure(figsize=(3, 2), layout=UnsteadyLayout(error))
    figure.suptitle("MAP")
    figure.subplots().plot([0, 1, 10])
    # Other objects lie in between, so that the addresses of those of the figure change.
    _garbage = [bytearray(size) for size in range(2000)]
    write_figure(folder, "figure", figure, "a line")
    return (folder / "figure.svg").read_bytes(), (folder / "figure.png").read_bytes()


def test_errors_of_the_layout_do_not_change_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure_files, "DPI", 30)
    expected = draw(tmp_path, 0)
    for error in (0, 1e-12, -1e-8):
        assert draw(tmp_path, error) == expected
