"""One color and one marker per method, the same in every figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from reproduction.experiments.methods import SCAN

PAPER_COLOR = "#444444"
"""Color of the paper's own values."""

COLUMN_COLORS = {"as published": "#c1272d", "bitfold": "#1f6fb4"}
"""Colors of the two columns, where a figure compares them."""

RAW_VECTORS = "raw pixels, one-versus-rest"
RAW_VECTORS_OVO = "raw pixels, one-versus-one"


class Look(NamedTuple):
    """How the line of a method is drawn."""

    color: str
    marker: str
    line: str = "-"
    is_hollow: bool = False

    def to_options(self) -> dict[str, Any]:
        """Return the options of matplotlib."""
        face, edge = ("white", 1.0) if self.is_hollow else (self.color, 0.5)
        return {
            "color": self.color, "marker": self.marker, "linestyle": self.line, "markersize": 5.0,
            "markerfacecolor": face, "markeredgecolor": self.color, "markeredgewidth": edge,
            "linewidth": 1.2,
        }  # fmt: skip


_LOOKS: dict[str, Look] = {
    "IMH-tSNE": Look("#c1272d", "o"),
    "IMH-LE": Look("#0b62a4", "s"),
    "AGH": Look("#149b5f", "^"),
    "STH": Look("#8c564b", "v"),
    "SH": Look("#e08e00", "D"),
    "PCAH": Look("#8a8a8a", "X"),
    "ITQ": Look("#7b3fa0", "P"),
    "SpH": Look("#3fb4d8", "<"),
    "BRE": Look("#a5a000", ">"),
    "IMH-tSNE-ITQ": Look("#c1272d", "o", "-.", is_hollow=True),
    "IMH-LE-ITQ": Look("#0b62a4", "s", "-.", is_hollow=True),
    "IMH-LE_B": Look("#7fb1e0", "s", is_hollow=True),
    "IMH-SNE": Look("#e377a2", "p"),
    "IMH-EE": Look("#f28522", "h"),
    "IMH-LLE": Look("#2b8f8f", "d"),
    "IMH-Isomap": Look("#5d7a1f", "*"),
    "IMH-DM": Look("#b58a5c", "8"),
    "IMH-PCA": Look("#3d3d3d", "x"),
    "IMHs": Look("#6a1020", "*"),
    "IMHs-ITQ": Look("#ff5a5f", "*"),
    "SSH": Look("#d9a400", "v"),
    "KSH": Look("#0f6b3c", "h"),
    "CCA-ITQ": Look("#4b2e83", "P"),
    SCAN: Look("#111111", "", "--"),
    RAW_VECTORS: Look("#111111", "", ":"),
    RAW_VECTORS_OVO: Look("#111111", "", "--"),
}

_UNKNOWN = Look("#999999", ".")


def sort_methods(methods: Iterable[str]) -> list[str]:
    """Return methods in the order of the legends, unknown ones last."""
    order = list(_LOOKS)
    return sorted(methods, key=lambda name: order.index(name) if name in order else len(order))


def find_look(method: str) -> Look:
    """Return how a method is drawn."""
    return _LOOKS.get(method, _UNKNOWN)


DIGIT_COLORS = (
    "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2",
    "#7f7f7f", "#bcbd22",
)  # fmt: skip
"""Colors of the ten classes."""
