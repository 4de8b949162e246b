"""Figures on the digits of scikit-learn: embeddings, rotation, search, labels and metrics."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bitfold import datasets, metrics
from bitfold.base_set import KMeansBase
from bitfold.codes import Codes
from bitfold.hashers import IMH, LSH, SupervisedIMH
from bitfold.rotation import itq, unit_rows
from bitfold.search.parts import CodeSample
from bitfold.search.plan import plan_lookup
from reproduction.shared_types import AnyArray
from reproduction.theory.panels import BLACK, LIGHT_GRAY, RED, make_panels

EMBEDDING_TITLES = {
    "tsne": "t-SNE", "sne": "SNE", "ee": "elastic embedding", "le": "relaxed Laplacian (LE)",
    "le_b": "Laplacian eigenmaps (LE_B)", "lle": "LLE", "isomap": "Isomap",
    "dm": "diffusion maps", "pca": "PCA",
}  # fmt: skip
"""Embeddings of the base set, and their titles."""


@cache
def load_digits() -> datasets.Dataset:
    """Return the digits, split into database and queries."""
    return datasets.digits()


def draw_embeddings() -> Figure:
    """Draw the base set of the digits in two dimensions, by every method."""
    data = load_digits()
    figure = Figure(figsize=(7.2, 7.4), layout="constrained")
    axes = figure.subplots(3, 3)
    for panel, (name, title) in zip(axes.flat, EMBEDDING_TITLES.items(), strict=True):
        hasher = IMH(2, base=KMeansBase(300), embedding=name, rotation=None, random_state=0)
        hasher.fit(data.database)
        closest = metrics.closest_neighbors(data.database, hasher.base_points_, k=1)[:, 0]
        panel.scatter(
            *hasher.base_embedding_.T, c=data.labels[closest], cmap="tab10", s=7, linewidths=0
        )
        panel.set_title(title)
        panel.set_xticks([])
        panel.set_yticks([])
    return figure


def draw_rotation() -> Figure:
    """Draw an embedding before and after ITQ: two of its dimensions, all of them, the loss."""
    data = load_digits()
    V = IMH(32, rotation=None, random_state=0).fit(data.database).embed(data.database)
    V = unit_rows(V - V.mean(axis=0))
    learned = itq(V, np.random.default_rng(0))
    sides = {"before": (V, LIGHT_GRAY), "after ITQ": (V @ learned.matrix, RED)}
    figure, (before, after, spread, loss) = make_panels(4, n_maps=2)
    for axes, (name, (points, _)) in zip((before, after), sides.items(), strict=True):
        axes.scatter(*points[:, :2].T, c=data.labels, cmap="tab10", s=3, linewidths=0)
        axes.set_title(f"2 of 32 dimensions, {name}")
        axes.axhline(0, color=BLACK, lw=0.8)
        axes.axvline(0, color=BLACK, lw=0.8)
    for name, (points, color) in sides.items():
        magnitudes = np.abs(points).ravel()
        spread.hist(magnitudes, bins=60, histtype="step", color=color, lw=1.5, label=name)
    spread.set(title="magnitudes, all dimensions", xlim=(0, 0.45), yticks=[])
    spread.legend(frameon=False)
    loss.plot(learned.losses, color=RED)
    loss.set(title="loss", xlabel="iteration")
    return figure


def draw_search() -> Figure:
    """Draw the number of items within a radius, and the cost of finding them with hash tables."""
    data = load_digits()
    figure, (counts, work) = make_panels(2, width=3.6, n_maps=0)
    for hasher in (IMH(64, random_state=0), LSH(64, random_state=0)):
        codes = hasher.fit(data.database).encode(data.database)
        queries = hasher.encode(data.queries)
        found = metrics.distance_histograms(queries, codes, data.relevance).found
        counts.plot(np.cumsum(found, axis=1).mean(axis=0)[:21], label=type(hasher).__name__)
    counts.set_title("items within a radius, 64 bits")
    counts.set_xlabel("radius")
    counts.legend(frameon=False)
    draw_lookup_cost(work)
    return figure


def draw_lookup_cost(axes: Axes) -> None:
    """Draw the numbers of keys probed and codes compared among a million random codes."""
    n_codes, radii = 1_000_000, range(11)
    rng = np.random.default_rng(0)
    sample = CodeSample.draw(rng.integers(0, 2**64 - 1, (1, n_codes), np.uint64, endpoint=True))
    keys, compared = [], []
    for radius in radii:
        plan = plan_lookup(sample, radius, max_bytes=np.inf)
        assert plan is not None
        widths = [len(part) for part in plan.parts]
        probes = [
            sum(comb(width, n_flips) for n_flips in range(reach + 1))
            for width, reach in zip(widths, plan.radii, strict=True)
        ]
        keys.append(sum(probes))
        compared.append(
            sum(n * n_codes / 2**width for n, width in zip(probes, widths, strict=True))
        )
    axes.semilogy(radii, np.full(len(radii), n_codes), "--", color=BLACK, label="codes of a scan")
    axes.semilogy(radii, compared, "o-", ms=3, color=RED, label="codes compared")
    axes.semilogy(radii, keys, "s-", ms=3, color="#1f77b4", label="keys probed")
    axes.set_title("one lookup in 1,000,000 random codes")
    axes.set_xlabel("radius")
    axes.legend(frameon=False)


def draw_supervised() -> Figure:
    """Draw the share of ones by class and bit, with and without labels, and F1 of lookup."""
    data = load_digits()
    hashers = {
        "IMH": IMH(9, base=KMeansBase(300), random_state=0),
        "SupervisedIMH": SupervisedIMH(base=KMeansBase(300), random_state=0),
    }
    figure, (left, middle, right) = make_panels(3, width=2.9, n_maps=0)
    for axes, (name, hasher) in zip((left, middle), hashers.items(), strict=True):
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


def draw_metrics() -> Figure:
    """Draw the ties of one query, its average precision by their order, and the curve of all."""
    data = load_digits()
    hasher = IMH(16, random_state=0).fit(data.database)
    codes, queries = hasher.encode(data.database), hasher.encode(data.queries)
    histograms = metrics.distance_histograms(queries, codes, data.relevance)
    precisions = metrics.average_precision(histograms)
    query = int(np.argsort(precisions)[len(precisions) // 5])
    figure, (ties, orders, curve) = make_panels(3, width=2.9, n_maps=0)
    distances = np.arange(codes.n_bits + 1)
    ties.bar(distances, histograms.found[query], color=LIGHT_GRAY, label="items")
    ties.bar(distances, histograms.relevant[query], color=RED, label="relevant")
    ties.set(title="one query: items at each distance", xlabel="Hamming distance")
    ties.legend(frameon=False)
    values = measure_shuffled(queries[query], codes, data.query_labels[query], data.labels)
    orders.hist(values, bins=24, color=LIGHT_GRAY)
    orders.axvline(precisions[query], color=RED, label="expected")
    orders.set(title=f"its average precision in {len(values)} orders")
    orders.legend(frameon=False)
    whole = metrics.precision_recall_curve(histograms)
    curve.plot(whole.recall, whole.precision, "o-", ms=3, color=BLACK)
    curve.set(title="all queries, radius 0 to 16", xlabel="recall", ylabel="precision")
    curve.set(ylim=(0, 1.05))
    return figure


def measure_shuffled(
    query: Codes, codes: Codes, label: int, labels: AnyArray, n_orders: int = 400
) -> list[float]:
    """Return the average precision of a query with ties by id, for random orders of the items."""
    rng, values = np.random.default_rng(0), []
    for _ in range(n_orders):
        order = rng.permutation(len(codes))
        relevance = metrics.Relevance.from_labels([label], labels[order])
        values.append(float(metrics.average_precision_by_id(query, codes[order], relevance)[0]))
    return values
