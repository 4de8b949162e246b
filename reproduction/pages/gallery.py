"""The gallery: how the first bits of each method divide a set of points in the plane."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bitfold import hashers
from bitfold.errors import ParameterError
from reproduction.experiments.methods import METHODS, make_hasher
from reproduction.shared_types import Float64Array, Int64Array

N_DRAWN_BITS = 3
"""Bits that are drawn, in eight colors."""

COLORS = ListedColormap(
    ["#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5"]
)

GALLERY_METHODS = [
    "IMH-tSNE-ITQ", "IMHs-ITQ", "AGH", "AGH-2", "LLH", "STH", "SH", "MDSH", "ITQ", "PCAH", "SpH",
    "BRE", "LSH", "PStableLSH", "SKLSH", "KLSH", "RMMH", "KSH", "SDH", "FSDH", "CCA-ITQ",
    "SSH", "LDAHash", "MahalanobisLSH",
]  # fmt: skip
"""Methods in the gallery, with related ones next to each other."""

HEAD = """# Gallery: how each method divides the plane

Four spirals wind around each other. Each method learned its codes from the same 1,800 points; the
colors are the cells of its first three bits (two, if it has only two directions in a plane). Good
codes for manifolds follow an arm and change across the gap; linear ones can only cut straight.
Drawn by `make gallery`.
"""


class Spirals(NamedTuple):
    """Points in the plane, and the arm that each is on."""

    points: Float64Array
    arms: Int64Array


def make_spirals(n: int = 1800, n_arms: int = 4, noise: float = 0.02, seed: int = 0) -> Spirals:
    """Draw points on spirals: near each other in the plane, but far apart along the curves."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(n_arms, size=n)
    radius = np.sqrt(rng.uniform(0.06, 1, n))
    angle = 1.3 * np.pi * radius + 2 * np.pi * arms / n_arms
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Spirals(points + noise * rng.standard_normal(points.shape), arms)


def fit_method(name: str, spirals: Spirals) -> hashers.Hasher:
    """Fit a method with three bits (four for AGH-2), or two if it cannot have more."""
    options: dict[str, Any] = {"n_base_points": 100} if METHODS[name].has_base_set else {}
    n_bits = N_DRAWN_BITS + 1 if name == "AGH-2" else N_DRAWN_BITS
    try:
        return make_hasher(name, n_bits, 0, options).fit(spirals.points, spirals.arms)
    except ParameterError as error:
        if error.name != "n_bits":
            raise
        return make_hasher(name, 2, 0, options).fit(spirals.points, spirals.arms)


def draw_method(name: str, spirals: Spirals) -> Figure:
    """Color the plane by the first bits, with the training points on top."""
    hasher = fit_method(name, spirals)
    limit = 1.1 * np.abs(spirals.points).max()
    side = np.linspace(-limit, limit, 420)
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    bits = hasher.transform(mesh)[:, :N_DRAWN_BITS]
    codes = bits @ (1 << np.arange(bits.shape[1]))
    figure = Figure(figsize=(3.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.imshow(
        codes.reshape(len(side), -1),
        origin="lower",
        extent=(-limit, limit, -limit, limit),
        cmap=COLORS,
        vmin=0,
        vmax=7,
        interpolation="nearest",
    )
    x, y = spirals.points.T
    axes.scatter(x, y, s=1.5, c="#222222", linewidths=0)
    axes.set_axis_off()
    return figure


def describe_method(name: str) -> str:
    """Return the docstring of the method's class up to its parameters."""
    return _get_docstring(name).split("\nParameters\n")[0].strip()


def find_reference(name: str) -> str:
    """Return where the method was published, from the docstring of its class."""
    section = _get_docstring(name).split("\nReferences\n")[1].split("\n\n")[0]
    lines = section.split("\n", 1)[1]
    return " ".join(lines.replace("*", "").split())


def _get_docstring(name: str) -> str:
    return inspect.getdoc(type(make_hasher(name, 4, 0, {}))) or ""


def write_gallery(docs: Path) -> Path:
    """Draw the images, write the page, and return its path."""
    folder = docs / "images" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    spirals = make_spirals()
    for name in GALLERY_METHODS:
        draw_method(name, spirals).savefig(folder / f"{name}.png", dpi=110)
    return write_page(docs)


def write_page(docs: Path) -> Path:
    """Write the page without drawing its images."""
    path = docs / "gallery.md"
    path.write_text("\n".join([HEAD, *map(_make_part, GALLERY_METHODS)]), encoding="utf-8")
    return path


def _make_part(name: str) -> str:
    labels = " Learns from labels." if METHODS[name].uses_labels else ""
    return (
        f"## {name}\n\n![{name} on spirals](images/gallery/{name}.png)\n\n"
        f"{describe_method(name)}{labels}\n\n*{find_reference(name)}*\n"
    )
