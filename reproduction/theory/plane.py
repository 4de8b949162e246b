"""Figures in the plane: four spirals, their base set, its graph, and induction."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from scipy.sparse import csr_array
from sklearn.decomposition import PCA

from bitfold.base_set import BaseStrategy, KMeansBase, KMedoidsBase, RandomBase
from bitfold.embedding import cooccurrence_affinities, perplexity_affinities
from bitfold.hashers import IMH
from bitfold.induction import induce, learn_bandwidth
from bitfold.neighbors import NearestBasePoints, Neighbors
from reproduction import prototype
from reproduction.pages.gallery import Spirals, make_spirals
from reproduction.shared_types import AnyArray, Int64Array
from reproduction.theory.panels import BLACK, RED, draw_points, make_panels


class SpiralModel(NamedTuple):
    """The spirals, a hasher that was fitted to them, its base points and their arms."""

    spirals: Spirals
    hasher: IMH
    base: AnyArray
    base_arms: Int64Array


@cache
def fit_spirals() -> SpiralModel:
    """Return the spirals and a hasher of 32 bits."""
    spirals = make_spirals()
    hasher = IMH(32, base=KMeansBase(100), random_state=0).fit(spirals.points)
    base = hasher.base_points_
    nearest = find_neighbors(base, spirals.points, 1).indices[:, 0]
    return SpiralModel(spirals, hasher, base.astype(np.float32), spirals.arms[nearest])


def find_neighbors(queries: AnyArray, points: AnyArray, k: int) -> Neighbors:
    """Return the k nearest points of each query."""
    return NearestBasePoints(points.astype(np.float32), k).find(queries.astype(np.float32))


def project_to_plane(points: AnyArray) -> AnyArray:
    """Return the points along their two principal directions."""
    return np.asarray(PCA(2, svd_solver="full").fit_transform(points))


def draw_path() -> Figure:
    """Draw vectors, base set, embedding, and the Hamming distances from one point."""
    spirals, hasher, base, base_arms = fit_spirals()
    figure, (vectors, points, embedding, codes) = make_panels(4)
    draw_points(vectors, spirals.points, spirals.arms, "vectors")
    draw_points(points, spirals.points, None, "base set")
    draw_points(points, base, base_arms, size=14)
    draw_points(embedding, project_to_plane(hasher.base_embedding_), base_arms, size=14)
    embedding.set_title("embedding, 2 principal directions")
    embedding.set_aspect("auto")
    draw_distances(codes, hasher, spirals.points[:1])
    title = "Hamming distance from one point"
    draw_points(codes, spirals.points, None, title, size=1.5, color=BLACK)
    return figure


def draw_distances(axes: Axes, hasher: IMH, query: AnyArray) -> None:
    """Shade the plane by the number of bits that differ from those of one point."""
    side = np.linspace(-1.15, 1.15, 260)
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    differing = hasher.transform(mesh) != hasher.transform(query)
    distances = differing.sum(axis=1).reshape(len(side), -1)
    axes.imshow(distances, origin="lower", extent=(-1.15, 1.15, -1.15, 1.15), cmap="GnBu_r")
    draw_star(axes, query[0])


def draw_star(axes: Axes, point: AnyArray) -> None:
    """Mark a query."""
    axes.scatter(point[0], point[1], marker="*", s=130, c=RED, edgecolors="white", zorder=3)


def draw_base_sets() -> Figure:
    """Draw three ways to choose base points, and the error of the prototype algorithm."""
    spirals, hasher, *_ = fit_spirals()
    figure, axes = make_panels(4, n_maps=3)
    strategies: list[BaseStrategy] = [RandomBase(60), KMedoidsBase(60), KMeansBase(60)]
    for panel, strategy in zip(axes, strategies, strict=False):
        base = strategy.choose(spirals.points, rng=0).points
        nearest = find_neighbors(spirals.points, base, 1)
        distance = np.sqrt(nearest.sq_distances).mean()
        name = type(strategy).__name__.removesuffix("Base")
        draw_points(panel, spirals.points, None, f"{name}, mean distance {distance:.3f}")
        draw_points(panel, base, None, size=12, color=RED)
    draw_prototype(axes[3], hasher.embed(spirals.points), spirals.points)
    return figure


def draw_prototype(axes: Axes, Y: AnyArray, X: AnyArray) -> None:
    """Draw the root mean square error of Eq. (5), and the bound of Lemma 3, against m."""
    sizes = 2 ** np.arange(1, 9)
    alphas = prototype.induction_weights(X[::90], X, k=200, bandwidth=0.2)
    errors, bounds = [], []
    for m in sizes:
        cover = prototype.cover_points(Y, int(m))
        variances = [
            prototype.estimate_moments(Y, alpha, cover.labels).variance for alpha in alphas
        ]
        errors.append(np.sqrt(np.mean(variances)))
        bounds.append(np.sqrt(prototype.variance_bound(cover.radius, int(m))))
    axes.loglog(sizes, bounds, "--", color=BLACK, label="bound ε/√m")
    axes.loglog(sizes, errors, "o-", color=RED, ms=3, label="error")
    axes.set_xlabel("clusters m")
    axes.set_title("prototype algorithm")
    axes.legend(frameon=False)


def draw_graphs() -> Figure:
    """Draw the links between base points by their distances, and by counting in the data."""
    spirals, _, base, base_arms = fit_spirals()
    neighbors = find_neighbors(spirals.points, base, 5)
    graphs = {
        "by distance, perplexity 5": perplexity_affinities(base, 5),
        "counted in the data": cooccurrence_affinities([neighbors], len(base)),
    }
    figure, axes = make_panels(2, width=3.6)
    for panel, (name, P) in zip(axes, graphs.items(), strict=True):
        draw_links(panel, P, base, base_arms, name)
    return figure


def draw_links(axes: Axes, P: csr_array, base: AnyArray, arms: Int64Array, name: str) -> None:
    """Draw affinities as lines, those between arms in red, and state the share of their weight."""
    links = P.tocoo()
    is_jump = arms[links.row] != arms[links.col]
    ends = np.stack([base[links.row], base[links.col]], axis=1)
    widths = 2.5 * np.sqrt(links.data / links.data.max())
    colors = np.where(is_jump, RED, BLACK)
    axes.add_collection(LineCollection(list(ends), colors=list(colors), linewidths=widths))
    share = links.data[is_jump].sum() / links.data.sum()
    draw_points(axes, base, arms, f"{name}\n{share:.0%} of the weight jumps between arms", size=16)


def draw_induction() -> Figure:
    """Draw a point and its nearest base points, its embedding, and the effect of σ."""
    spirals, hasher, base, _ = fit_spirals()
    query = spirals.points[3:4]
    nearest = find_neighbors(query, base, hasher.n_neighbors_)
    weights = prototype.induction_weights(query, base, hasher.n_neighbors_, hasher.bandwidth_)
    # A weighted mean stays a weighted mean along any two directions.
    embedded = project_to_plane(np.concatenate([hasher.bit_embedding_, hasher.embed(query)]))
    figure, (left, middle, right) = make_panels(3, width=3, n_maps=2)
    draw_points(left, spirals.points, None, size=1.5)
    near = nearest.indices[0]
    draw_weights(left, base, query[0], near, weights[0, near])
    left.set_title("a point and its 5 nearest base points")
    draw_weights(middle, embedded[:-1], embedded[-1], near, weights[0, near])
    middle.set_title("the mean of their embeddings")
    draw_bandwidths(right)
    return figure


def draw_weights(
    axes: Axes, base: AnyArray, point: AnyArray, near: AnyArray, weights: AnyArray
) -> None:
    """Draw a point, its nearest base points, and their weights as widths of lines."""
    draw_points(axes, base, None, size=12, color="#888888")
    lines = [np.array([point, neighbor]) for neighbor in base[near]]
    axes.add_collection(LineCollection(lines, colors=BLACK, linewidths=9 * weights))
    draw_points(axes, base[near], None, size=24, color=BLACK)
    draw_star(axes, point)
    x, y = point
    reach = 2.5 * float(np.abs(base[near] - point).max())
    axes.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach))


def draw_bandwidths(axes: Axes) -> None:
    """Draw Eq. (8) along a line with a base set of nine points, for three bandwidths."""
    rng = np.random.default_rng(0)
    points = (np.linspace(0, 1, 9) + rng.uniform(-0.04, 0.04, 9))[:, None]
    values = np.sin(7 * points)
    line = np.linspace(0, 1, 800)[:, None]
    neighbors = find_neighbors(line, points, 5)
    sigma = learn_bandwidth(neighbors)
    for factor, color in ((0.25, "#1f77b4"), (1.0, RED), (4.0, "#2ca02c")):
        label = "σ" if factor == 1 else f"{factor:g} σ"
        induced = induce(neighbors, values.astype(np.float32), factor * sigma)
        axes.plot(line, induced, color=color, label=label)
    axes.plot(points, values, "o", color=BLACK, ms=4)
    axes.set_title("Eq. (8) along a line")
    axes.legend(frameon=False)
