"""The charts: one mark per code and ranking."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from reproduction.which_code.charts import draw_chart, write_chart
from reproduction.which_code.summary import list_unlabeled, summarize
from tests.reproduction.which_code.records import make_records

ROWS = summarize(make_records(), "text")


def test_every_code_without_labels_is_drawn() -> None:
    figure = draw_chart(ROWS, "Title")
    drawn = {line.get_label(): line for line in figure.axes[0].lines}
    assert set(drawn) == {row.title.replace("`", "") for row in list_unlabeled(ROWS)}
    mark = drawn["DualHasher(128), Hamming"]
    assert np.asarray(mark.get_xydata()).tolist() == [[16, 15.5]]
    assert mark.get_markerfacecolor() == "white"
    assert drawn["DualHasher(128), asymmetric"].get_markerfacecolor() != "white"
    assert np.all(np.asarray(drawn["exact vectors"].get_ydata()) == 10)


def test_panels_show_precision_and_recall() -> None:
    figure = draw_chart(ROWS, "Title")
    titles = [axes.get_title() for axes in figure.axes]
    assert [title.split(",")[0] for title in titles] == ["P@10", "recall@10"]
    assert [int(tick) for tick in figure.axes[0].get_xticks()] == [8, 16, 32, 40]


def test_background_is_opaque(tmp_path: Path) -> None:
    path = write_chart(ROWS, "Title", tmp_path / "images" / "text.png")
    with Image.open(path) as image:
        assert image.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
        assert image.width > 1000
