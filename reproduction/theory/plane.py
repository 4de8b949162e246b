"""Steps that show in the plane: four spirals, their base set, its graph, and induction."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bitfold import metrics
from bitfold.base_set import BaseStrategy, KMeansBase, KMedoidsBase, RandomBase
from bitfold.embedding import cooccurrence_affinities, perplexity_affinities
from bitfold.embedding.pca import principal_components
from bitfold.hashers import IMH
from bitfold.induction import induce, learn_bandwidth
from bitfold.neighbors import NearestBasePoints
from reproduction import prototype
from reproduction.gallery import Plane, spirals
from reproduction.theory.panels import INK, STRONG, Points, panels, scatter

FloatArray = NDArray[np.float32]


class Carried(NamedTuple):
    """Points of the plane, a base set among them, and the arm that each of both lies on."""

    plane: Plane
    base: FloatArray
    base_arms: NDArray[np.int64]


@cache
def folded() -> IMH:
    """Return what 32 bits make of the spirals."""
    return IMH(32, base=KMeansBase(100), random_state=0).fit(spirals().points)


@cache
def carried() -> Carried:
    """Return the spirals and the base set that carries them."""
    plane, base = spirals(), folded().base_points_
    closest = metrics.closest_neighbors(plane.points, base, k=1)[:, 0]
    return Carried(plane, base.astype(np.float32), plane.curves[closest])


def the_path() -> Figure:
    """Vectors, base set, embedding, and how far codes are from that of one point."""
    plane, base, arms = carried()
    hasher = folded()
    figure, (vectors, points, embedding, codes) = panels(4)
    scatter(vectors, plane.points, plane.curves, "vectors")
    scatter(points, plane.points, None, "base set")
    scatter(points, base, arms, size=14)
    scatter(embedding, principal_components(hasher.base_embedding_, 2), arms, size=14)
    embedding.set_title("embedding, seen from 2 directions")
    embedding.set_aspect("auto")
    draw_distances(codes, hasher, plane.points[:1])
    scatter(codes, plane.points, None, "Hamming distance from one point", size=1.5, color=INK)
    return figure


def draw_distances(axes: Axes, hasher: IMH, query: Points) -> None:
    """Shade the plane by how many bits differ from those of one point."""
    side = np.linspace(-1.15, 1.15, 260)
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    differ = hasher.transform(mesh) != hasher.transform(query)
    distances = differ.sum(axis=1).reshape(len(side), -1)
    axes.imshow(distances, origin="lower", extent=(-1.15, 1.15, -1.15, 1.15), cmap="GnBu_r")
    axes.scatter(
        query[:, 0], query[:, 1], marker="*", s=130, c=STRONG, edgecolors="white", zorder=3
    )


def base_set() -> Figure:
    """Three ways to choose base points, and the error of the prototype algorithm."""
    plane = carried().plane
    figure, axes = panels(4, square=3)
    strategies: list[BaseStrategy] = [RandomBase(60), KMedoidsBase(60), KMeansBase(60)]
    for panel, strategy in zip(axes, strategies, strict=False):
        base = strategy.choose(plane.points, rng=0).points
        found = NearestBasePoints(base, 1).find(plane.points.astype(np.float32))
        distance = np.sqrt(found.sq_distances).mean()
        name = type(strategy).__name__.removesuffix("Base")
        scatter(panel, plane.points, None, f"{name}, mean distance {distance:.3f}")
        scatter(panel, base, None, size=12, color=STRONG)
    draw_prototype(axes[3], folded().embed(plane.points), plane.points)
    return figure


def draw_prototype(axes: Axes, Y: FloatArray, X: Points) -> None:
    """Draw the root mean square error of Eq. (5), and Lemma 2's bound, against m."""
    sizes = 2 ** np.arange(1, 9)
    alphas = prototype.induction_weights(X[::90], X, k=200, bandwidth=0.2)
    errors, bounds = [], []
    for m in sizes:
        cover = prototype.cover(Y, int(m))
        variances = [prototype.moments(Y, alpha, cover.labels).variance for alpha in alphas]
        errors.append(np.sqrt(np.mean(variances)))
        bounds.append(np.sqrt(prototype.variance_bound(cover.radius, int(m))))
    axes.loglog(sizes, bounds, "--", color=INK, label="bound ε/√m")
    axes.loglog(sizes, errors, "o-", color=STRONG, ms=3, label="error")
    axes.set_xlabel("clusters m")
    axes.set_title("prototype algorithm")
    axes.legend(frameon=False)


def affinity_graph() -> Figure:
    """Show the links between base points by their distances, and by counting in the data."""
    plane, base, arms = carried()
    found = NearestBasePoints(base, 5).find(plane.points.astype(np.float32))
    graphs = {
        "by distance, perplexity 5": perplexity_affinities(base, 5),
        "counted in the data": cooccurrence_affinities([found], len(base)),
    }
    figure, axes = panels(2, width=3.6)
    for panel, (name, P) in zip(axes, graphs.items(), strict=True):
        draw_links(panel, P, base, arms, name)
    return figure


def draw_links(
    axes: Axes, P: csr_array, base: FloatArray, arms: NDArray[np.int64], name: str
) -> None:
    """Draw affinities as lines, those from one arm to another in red, and tell their weight."""
    links = P.tocoo()
    jumps = arms[links.row] != arms[links.col]
    ends = np.stack([base[links.row], base[links.col]], axis=1)
    widths = 2.5 * np.sqrt(links.data / links.data.max())
    colors = np.where(jumps, STRONG, INK)
    axes.add_collection(LineCollection(list(ends), colors=list(colors), linewidths=widths))
    share = links.data[jumps].sum() / links.data.sum()
    scatter(axes, base, arms, f"{name}\n{share:.0%} of the weight jumps between arms", size=16)


def induction() -> Figure:
    """A point among its nearest base points, where they carry it, and what σ does."""
    hasher, plane = folded(), carried().plane
    query = plane.points[3:4]
    found = hasher.nearest_base_points.find((query - hasher.center_).astype(np.float32))
    weights = np.exp((found.sq_distances[0, 0] - found.sq_distances[0]) / hasher.bandwidth_**2)
    weights /= weights.sum()
    # Seen from two directions, which a weighted mean does not mind.
    both = np.concatenate([hasher.bit_embedding_, hasher.embed(query)])
    seen = principal_components(both, 2)
    figure, (left, middle, right) = panels(3, width=3, square=2)
    scatter(left, plane.points, None, size=1.5)
    draw_carrying(left, hasher.base_points_, query[0], found.indices[0], weights)
    left.set_title("a point and its 5 nearest base points")
    draw_carrying(middle, seen[:-1], seen[-1], found.indices[0], weights)
    middle.set_title("their embeddings carry it")
    draw_bandwidths(right)
    return figure


def draw_carrying(
    axes: Axes, base: Points, place: Points, near: NDArray[np.int32], weights: Points
) -> None:
    """Draw a point, the base points that carry it, and their weights as widths of lines."""
    scatter(axes, base, None, size=12, color="#888888")
    lines = [np.array([place, point]) for point in base[near]]
    axes.add_collection(LineCollection(lines, colors=INK, linewidths=9 * weights))
    scatter(axes, base[near], None, size=24, color=INK)
    axes.scatter(place[0], place[1], marker="*", s=130, c=STRONG, edgecolors="white", zorder=3)
    x, y = place
    reach = 2.5 * float(np.abs(base[near] - place).max())
    axes.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach))


def draw_bandwidths(axes: Axes) -> None:
    """Draw Eq. (8) along a line with a base set of nine points, for three bandwidths."""
    rng = np.random.default_rng(0)
    points = (np.linspace(0, 1, 9) + rng.uniform(-0.04, 0.04, 9))[:, None].astype(np.float32)
    values = np.sin(7 * points)
    line = np.linspace(0, 1, 800)[:, None].astype(np.float32)
    found = NearestBasePoints(points, 5).find(line)
    sigma = learn_bandwidth(found)
    for factor, color in ((0.25, "#1f77b4"), (1.0, STRONG), (4.0, "#2ca02c")):
        label = "σ" if factor == 1 else f"{factor:g} σ"
        axes.plot(line, induce(found, values, factor * sigma), color=color, label=label)
    axes.plot(points, values, "o", color=INK, ms=4)
    axes.set_title("Eq. (8) along a line")
    axes.legend(frameon=False)
