"""The chart of the comparison: one row per method, in two themes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from PIL import Image, ImageColor
from reproduction.pages.comparison_chart import THEMES, draw_chart, write_charts
from reproduction.pages.comparison_summary import MethodResult, Ranking

RANKING = Ranking(
    [MethodResult("IMH", 64, 90.0, 30.0), MethodResult("LSH", 64, 30.0, 0.1)],
    [MethodResult("KSH", 64, 85.0, None), MethodResult("IMHs", 9, 80.0, 12.0)],
)
LIGHT = THEMES[""]


def test_rows_are_methods_from_best_to_worst() -> None:
    left, _ = draw_chart(RANKING, "Title", LIGHT).axes
    titles = ["IMH", "KSH", "IMHs (9 bits)", "LSH"]
    assert [label.get_text() for label in left.get_yticklabels()] == titles
    assert left.yaxis_inverted()
    bars = [bar for bar in left.patches if isinstance(bar, Rectangle)]
    bars.sort(key=lambda bar: bar.get_y())
    assert [bar.get_width() for bar in bars] == [90, 85, 80, 30]
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [
        LIGHT.unlabeled, LIGHT.labeled, LIGHT.labeled, LIGHT.unlabeled,
    ]  # fmt: skip


def test_methods_without_times_have_no_point() -> None:
    _, right = draw_chart(RANKING, "Title", LIGHT).axes
    points = [np.asarray(line.get_xydata())[0].tolist() for line in right.lines]
    assert points == [[30, 0], [12, 2], [0.1, 3]]
    assert right.get_xscale() == "log"


def test_few_times_have_no_panel() -> None:
    untimed = [result._replace(fit_seconds=None) for result in RANKING.unlabeled]
    [only] = draw_chart(RANKING._replace(unlabeled=untimed), "Title", LIGHT).axes
    assert len(only.get_yticklabels()) == 4


def test_light_and_dark_charts_have_opaque_backgrounds(tmp_path: Path) -> None:
    paths = write_charts(RANKING, "Title", tmp_path / "images" / "mnist.png")
    assert [path.name for path in paths] == ["mnist.png", "mnist-dark.png"]
    corners = []
    for path in paths:
        with Image.open(path) as image:
            assert image.width > 1000
            corners.append(image.convert("RGBA").getpixel((0, 0)))
    assert corners == [ImageColor.getcolor(theme.background, "RGBA") for theme in THEMES.values()]
