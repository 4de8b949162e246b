"""Pictures of the theory: one for each step of the path, drawn from what the library computes.

``python -m reproduction.theory docs`` writes the pictures of the pages in ``docs/theory``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

from reproduction.theory.digits import embeddings, measures, rotation, search, supervised
from reproduction.theory.panels import STYLE
from reproduction.theory.plane import affinity_graph, base_set, induction, the_path

PICTURES: dict[str, Callable[[], Figure]] = {
    "path": the_path,
    "base-set": base_set,
    "graph": affinity_graph,
    "embeddings": embeddings,
    "induction": induction,
    "rotation": rotation,
    "search": search,
    "supervised": supervised,
    "metrics": measures,
}
"""Pictures by the names of their files."""


def save(name: str, path: Path) -> None:
    """Draw one picture into a small file: 256 colors are enough for it."""
    with rc_context(STYLE):
        figure = PICTURES[name]()
        raw = io.BytesIO()
        figure.savefig(raw, dpi=110)
    Image.open(raw).convert("RGB").quantize(256, kmeans=2).save(path, optimize=True)


def pictures(folder: Path) -> None:
    """Draw all pictures."""
    target = folder / "images" / "theory"
    target.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        save(name, target / f"{name}.png")
