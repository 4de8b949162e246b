"""Pictures of the theory: one for each step of the path, drawn from what the library computes.

``python -m bitfold.experiments.theory docs`` writes the pictures of the pages in ``docs/theory``.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from functools import cache
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from scipy.sparse import csr_array

from bitfold import datasets, metrics, prototype
from bitfold.base_set import BaseStrategy, KMeansBase, KMediansBase, RandomBase
from bitfold.binarize import itq, unit_rows
from bitfold.codes import Codes
from bitfold.embedding import Neighbours
from bitfold.embedding.affinity import counted_affinities, perplexity_affinities
from bitfold.embedding.pca import principal_components
from bitfold.experiments.gallery import Plane, spirals
from bitfold.hashers import IMH, LSH, SupervisedIMH
from bitfold.induction import BaseSet, learn_bandwidth
from bitfold.search.lookup import best_plan

FloatArray = NDArray[np.float32]
Points = NDArray[np.floating[Any]]

INK, FAINT, STRONG = "#222222", "#c4c4c4", "#d62728"
ARMS = ListedColormap(["#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd"])

EMBEDDINGS = {
    "tsne": "t-SNE", "sne": "SNE", "ee": "elastic embedding", "le": "relaxed Laplacian (LE)",
    "le_b": "Laplacian eigenmaps (LE_B)", "lle": "LLE", "isomap": "Isomap",
    "dm": "diffusion maps", "pca": "PCA",
}  # fmt: skip
"""Names of the embeddings of the base set, and how they are headed."""


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
    closest = metrics.closest_neighbours(plane.points, base, k=1)[:, 0]
    return Carried(plane, base.astype(np.float32), plane.curves[closest])


@cache
def handwriting() -> datasets.Dataset:
    """Return the digits, split into database and queries."""
    return datasets.digits()


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
    scatter(codes, plane.points, None, "Hamming distance from one point", size=1.5, colour=INK)
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
    strategies: list[BaseStrategy] = [RandomBase(60), KMediansBase(60), KMeansBase(60)]
    for panel, strategy in zip(axes, strategies, strict=False):
        base = strategy.choose(plane.points, rng=0)
        found = BaseSet(base, 1).neighbours(plane.points.astype(np.float32))
        distance = np.sqrt(found.sq_distances).mean()
        name = type(strategy).__name__.removesuffix("Base")
        scatter(panel, plane.points, None, f"{name}, mean distance {distance:.3f}")
        scatter(panel, base, None, size=12, colour=STRONG)
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
    found = BaseSet(base, 5).neighbours(plane.points.astype(np.float32))
    graphs = {
        "by distance, perplexity 5": perplexity_affinities(base, 5),
        "counted in the data": counted_affinities([Neighbours(*found)], len(base)),
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
    colours = np.where(jumps, STRONG, INK)
    axes.add_collection(LineCollection(list(ends), colors=list(colours), linewidths=widths))
    share = links.data[jumps].sum() / links.data.sum()
    scatter(axes, base, arms, f"{name}\n{share:.0%} of the weight jumps between arms", size=16)


def embeddings() -> Figure:
    """Show the base set of the digits in two dimensions, by every method."""
    data = handwriting()
    figure = Figure(figsize=(7.2, 7.4), layout="constrained")
    axes = figure.subplots(3, 3)
    for panel, (name, heading) in zip(axes.flat, EMBEDDINGS.items(), strict=True):
        hasher = IMH(2, base=KMeansBase(300), embedding=name, rotation=None, random_state=0)
        hasher.fit(data.database)
        closest = metrics.closest_neighbours(data.database, hasher.base_points_, k=1)[:, 0]
        panel.scatter(
            *hasher.base_embedding_.T, c=data.labels[closest], cmap="tab10", s=7, linewidths=0
        )
        panel.set_title(heading)
        panel.set_xticks([])
        panel.set_yticks([])
    return figure


def induction() -> Figure:
    """A point among its nearest base points, where they carry it, and what σ does."""
    hasher, plane = folded(), carried().plane
    query = plane.points[3:4]
    base = BaseSet(hasher.base_set_, hasher.k_)
    found = base.neighbours((query - hasher.centre_).astype(np.float32))
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
    scatter(axes, base, None, size=12, colour="#888888")
    lines = [np.array([place, point]) for point in base[near]]
    axes.add_collection(LineCollection(lines, colors=INK, linewidths=9 * weights))
    scatter(axes, base[near], None, size=24, colour=INK)
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
    base = BaseSet(points, 5)
    sigma = learn_bandwidth(base.neighbours(line))
    for factor, colour in ((0.25, "#1f77b4"), (1.0, STRONG), (4.0, "#2ca02c")):
        label = "σ" if factor == 1 else f"{factor:g} σ"
        axes.plot(line, base.induce(line, values, factor * sigma), color=colour, label=label)
    axes.plot(points, values, "o", color=INK, ms=4)
    axes.set_title("Eq. (8) along a line")
    axes.legend(frameon=False)


def rotation() -> Figure:
    """Show an embedding before and after ITQ: two of its dimensions, all of them, the loss."""
    data = handwriting()
    V = IMH(32, rotation=None, random_state=0).fit(data.database).embed(data.database)
    V = unit_rows(V - V.mean(axis=0))
    learned = itq(V, np.random.default_rng(0))
    sides = {"before": (V, FAINT), "after ITQ": (V @ learned.matrix, STRONG)}
    figure, (before, after, spread, loss) = panels(4, square=2)
    for axes, (name, (points, _)) in zip((before, after), sides.items(), strict=True):
        axes.scatter(*points[:, :2].T, c=data.labels, cmap="tab10", s=3, linewidths=0)
        axes.set_title(f"2 of 32 dimensions, {name}")
        axes.axhline(0, color=INK, lw=0.8)
        axes.axvline(0, color=INK, lw=0.8)
    for name, (points, colour) in sides.items():
        magnitudes = np.abs(points).ravel()
        spread.hist(magnitudes, bins=60, histtype="step", color=colour, lw=1.5, label=name)
    spread.set(title="magnitudes, all dimensions", xlim=(0, 0.45), yticks=[])
    spread.legend(frameon=False)
    loss.plot(learned.losses, color=STRONG)
    loss.set(title="loss", xlabel="iteration")
    return figure


def search() -> Figure:
    """Show how many items a radius holds, and what finding them costs by tables."""
    data = handwriting()
    figure, (held, work) = panels(2, width=3.6, square=0)
    for hasher in (IMH(64, random_state=0), LSH(64, random_state=0)):
        codes = hasher.fit(data.database).encode(data.database)
        queries = hasher.encode(data.queries)
        counts = metrics.distance_histograms(queries, codes, data.relevance).found
        held.plot(np.cumsum(counts, axis=1).mean(axis=0)[:21], label=type(hasher).__name__)
    held.set_title("items within a radius, 64 bits")
    held.set_xlabel("radius")
    held.legend(frameon=False)
    draw_work(work)
    return figure


def draw_work(axes: Axes) -> None:
    """Draw keys that are probed and codes that are compared, of a million random ones."""
    n_codes, radii = 1_000_000, range(11)
    keys, compared = [], []
    for radius in radii:
        plan = best_plan(64, n_codes, radius)
        probes = [
            sum(comb(width, ones) for ones in range(reach + 1))
            for width, reach in zip(plan.widths, plan.radii, strict=True)
        ]
        keys.append(sum(probes))
        compared.append(
            sum(n * n_codes / 2**width for n, width in zip(probes, plan.widths, strict=True))
        )
    axes.semilogy(radii, np.full(len(radii), n_codes), "--", color=INK, label="codes of a scan")
    axes.semilogy(radii, compared, "o-", ms=3, color=STRONG, label="codes compared")
    axes.semilogy(radii, keys, "s-", ms=3, color="#1f77b4", label="keys probed")
    axes.set_title("one lookup in 1,000,000 random codes")
    axes.set_xlabel("radius")
    axes.legend(frameon=False)


def supervised() -> Figure:
    """Show how sure each bit is of each class, with and without labels, and what lookup finds."""
    data = handwriting()
    fitted = {
        "IMH": IMH(9, base=KMeansBase(300), random_state=0),
        "SupervisedIMH": SupervisedIMH(base=KMeansBase(300), random_state=0),
    }
    figure, (left, middle, right) = panels(3, width=2.9, square=0)
    for axes, (name, hasher) in zip((left, middle), fitted.items(), strict=True):
        codes = hasher.fit(data.database, data.labels).encode(data.database)
        bits = codes.unpack()
        shares = [bits[data.labels == label].mean(axis=0) for label in np.unique(data.labels)]
        axes.imshow(shares, cmap="coolwarm", vmin=0, vmax=1, aspect="auto")
        axes.set(title=f"{name}: bits that are 1", xlabel="bit", ylabel="digit", yticks=range(10))
        histograms = metrics.distance_histograms(hasher.encode(data.queries), codes, data.relevance)
        curve = metrics.precision_recall_curve(histograms)
        right.plot(curve.radius, curve.f1, "o-", ms=3, label=name)
    right.set(title="F1 of lookup, 9 bits", xlabel="radius")
    right.legend(frameon=False)
    return figure


def measures() -> Figure:
    """Show ties of one query, what their order does to average precision, and the curve of all."""
    data = handwriting()
    hasher = IMH(16, random_state=0).fit(data.database)
    codes, queries = hasher.encode(data.database), hasher.encode(data.queries)
    histograms = metrics.distance_histograms(queries, codes, data.relevance)
    precisions = metrics.average_precision(histograms)
    hard = int(np.argsort(precisions)[len(precisions) // 5])
    figure, (ties, orders, curve) = panels(3, width=2.9, square=0)
    distances = np.arange(codes.n_bits + 1)
    ties.bar(distances, histograms.found[hard], color=FAINT, label="items")
    ties.bar(distances, histograms.relevant[hard], color=STRONG, label="relevant")
    ties.set(title="one query: items at each distance", xlabel="Hamming distance")
    ties.legend(frameon=False)
    values = shuffled_precisions(queries[hard], codes, data.query_labels[hard], data.labels)
    orders.hist(values, bins=24, color=FAINT)
    orders.axvline(precisions[hard], color=STRONG, label="expected")
    orders.set(title=f"its average precision in {len(values)} orders")
    orders.legend(frameon=False)
    whole = metrics.precision_recall_curve(histograms)
    curve.plot(whole.recall, whole.precision, "o-", ms=3, color=INK)
    curve.set(title="all queries, radius 0 to 16", xlabel="recall", ylabel="precision")
    curve.set(ylim=(0, 1.05))
    return figure


def shuffled_precisions(
    query: Codes, codes: Codes, label: Any, labels: NDArray[Any], times: int = 400
) -> list[float]:
    """Return the average precision of a query with ties by id, for random orders of the items."""
    rng, values = np.random.default_rng(0), []
    for _ in range(times):
        order = rng.permutation(len(codes))
        relevance = metrics.Relevance.labels([label], labels[order])
        values.append(float(metrics.average_precision_by_id(query, codes[order], relevance)[0]))
    return values


def panels(n: int, width: float = 2.4, square: int | None = None) -> tuple[Figure, Any]:
    """Return a row of panels; the first ``square`` (by default all) are maps without axes."""
    figure = Figure(figsize=(width * n, 2.7 if width < 3 else 3), layout="constrained")
    axes = figure.subplots(1, n)
    for place, panel in enumerate(axes):
        if square is None or place < square:
            panel.set_aspect("equal")
            panel.set_xticks([])
            panel.set_yticks([])
    return figure, axes


def scatter(
    axes: Axes,
    points: Points,
    arms: NDArray[np.int64] | None,
    title: str | None = None,
    *,
    size: float = 3,
    colour: str = FAINT,
) -> None:
    """Draw points of the plane, coloured by their arm or alike."""
    x, y = points.T
    if arms is None:
        axes.scatter(x, y, s=size, c=colour, linewidths=0, zorder=2)
    else:
        axes.scatter(x, y, s=size, c=arms, cmap=ARMS, linewidths=0, zorder=2)
    if title is not None:
        axes.set_title(title)


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


STYLE: dict[Any, Any] = {
    "axes.labelsize": 8, "axes.titlesize": 8.5, "legend.fontsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}  # fmt: skip


def save(name: str, path: Path) -> None:
    """Draw one picture into a small file: 256 colours are enough for it."""
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


if __name__ == "__main__":
    pictures(Path(sys.argv[1]))
