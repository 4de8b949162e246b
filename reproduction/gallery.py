"""The gallery: how the first bits of each method part a set of points in the plane.

``python -m reproduction.gallery docs`` writes the page and its pictures.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bitfold import hashers
from reproduction.methods import METHODS, make

RealArray = NDArray[np.float64]

BITS = 3
"""Bits that are drawn: eight colors."""

COLORS = ListedColormap(
    ["#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5"]
)

SHOWN = [
    "IMH-tSNE-ITQ", "IMHs-ITQ", "AGH", "AGH-2", "LLH", "STH", "SH", "MDSH", "ITQ", "PCAH", "SpH",
    "BRE", "LSH", "PStableLSH", "SKLSH", "KLSH", "RMMH", "KSH", "CCA-ITQ", "SSH", "LDAHash",
]  # fmt: skip
"""Methods in the gallery, relatives beside each other."""


class Plane(NamedTuple):
    """Points in the plane, each on one of some curves."""

    points: RealArray
    curves: NDArray[np.int64]


def spirals(n: int = 1800, arms: int = 4, noise: float = 0.02, seed: int = 0) -> Plane:
    """Draw points of spirals that wind around each other: near in the plane, far on the curve."""
    rng = np.random.default_rng(seed)
    curves = rng.integers(arms, size=n)
    along = np.sqrt(rng.uniform(0.06, 1, n))
    angle = 1.3 * np.pi * along + 2 * np.pi * curves / arms
    points = along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Plane(points + noise * rng.standard_normal(points.shape), curves)


def learned(name: str, plane: Plane) -> hashers.Hasher:
    """Fit a method to the plane, with as many bits as it can have there, three at most."""
    options: dict[str, Any] = {"m": 100} if name.startswith(("IMH", "AGH")) else {}
    for n_bits in (BITS + 1 if name == "AGH-2" else BITS, 2):
        hasher = make(name, n_bits, 0, options)
        try:
            return hasher.fit(plane.points, plane.curves)
        except ValueError as error:
            if "at most" not in str(error):
                raise
    raise ValueError(f"{name} must have codes of 2 bits in the plane, got none.")


def draw(name: str, plane: Plane) -> Figure:
    """Color the plane by the first bits, under the points that were learned from."""
    hasher = learned(name, plane)
    reach = 1.1 * np.abs(plane.points).max()
    side = np.linspace(-reach, reach, 420)
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    bits = hasher.transform(mesh)[:, :BITS]
    codes = bits @ (1 << np.arange(bits.shape[1]))
    figure = Figure(figsize=(3.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.imshow(
        codes.reshape(len(side), -1),
        origin="lower",
        extent=(-reach, reach, -reach, reach),
        cmap=COLORS,
        vmin=0,
        vmax=7,
        interpolation="nearest",
    )
    x, y = plane.points.T
    axes.scatter(x, y, s=1.5, c="#222222", linewidths=0)
    axes.set_axis_off()
    return figure


def about(name: str) -> str:
    """What the method does: the words of its class, up to the parameters."""
    kind = type(make(name, 4, 0, {}))
    words = inspect.getdoc(kind) or ""
    return words.split("\nParameters\n")[0].strip()


def reference(name: str) -> str:
    """Where the method was published, as its class says."""
    words = inspect.getdoc(type(make(name, 4, 0, {}))) or ""
    published = words.split("\nReferences\n")[1].split("\n\n")[0].split("\n", 1)[1]
    return " ".join(published.replace("*", "").split())


def page(folder: Path) -> None:
    """Write the page and its pictures."""
    pictures = folder / "images" / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    plane = spirals()
    parts = [HEAD]
    for name in SHOWN:
        draw(name, plane).savefig(pictures / f"{name}.png", dpi=110)
        labels = " Learns from labels." if METHODS[name].uses_labels else ""
        parts.append(
            f"## {name}\n\n![{name} on spirals](images/gallery/{name}.png)\n\n"
            f"{about(name)}{labels}\n\n*{reference(name)}*\n"
        )
    (folder / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


HEAD = """# Gallery: how each method parts the plane

Four spirals wind around each other. Each method learned its codes from the same 1,800 points; the
colors are the cells of its first three bits (two, where it has no more directions in a plane).
Good codes for manifolds follow an arm and change across the gap; linear ones can only cut straight.
Drawn by `make gallery`.
"""

if __name__ == "__main__":
    page(Path(sys.argv[1]))
