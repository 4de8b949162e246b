"""The figure of the splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from reproduction.kind_and_order.charts import Curves, draw_chart, write_chart
from reproduction.kind_and_order.summary import find_exact, list_fits
from tests.reproduction.kind_and_order.records import make_records

RECORDS = make_records(("text", "sift_photos"))
CURVES = {
    name: Curves(list_fits(RECORDS, name), find_exact(RECORDS, name))
    for name in ("text", "sift_photos")
}


def test_curves_have_one_point_per_split() -> None:
    figure = draw_chart(CURVES)
    drawn = {str(line.get_label()): line for line in figure.axes[0].lines}
    assert set(drawn) == {
        "128 bits, asymmetric", "128 bits, Hamming", "64 bits, asymmetric", "64 bits, Hamming",
        "exact vectors",
    }  # fmt: skip
    curve = np.asarray(drawn["64 bits, Hamming"].get_xydata()).tolist()
    assert curve == [[8, 10], [16, 11], [24, 12], [32, 13], [40, 14]]
    assert drawn["64 bits, Hamming"].get_markerfacecolor() == "white"


def test_panels_without_labels_are_empty() -> None:
    titles = [axes.get_title() for axes in draw_chart(CURVES).axes]
    assert [title.split(",")[0] for title in titles] == [
        "text: MAP", "text: P@10", "text: P@100", "text: recall@10",
        "", "", "", "sift_photos: recall@10",
    ]  # fmt: skip


def test_background_is_opaque(tmp_path: Path) -> None:
    with Image.open(write_chart(CURVES, tmp_path / "images" / "splits.png")) as image:
        assert image.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
        assert image.width > 1000
