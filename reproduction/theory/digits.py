"""Steps that need real data: embeddings, rotation, search, labels and metrics on the digits."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bitfold import datasets, metrics
from bitfold.base_set import KMeansBase
from bitfold.codes import Codes
from bitfold.hashers import IMH, LSH, SupervisedIMH
from bitfold.rotation import itq, unit_rows
from bitfold.search.lookup import best_plan
from reproduction.theory.panels import FAINT, INK, STRONG, panels

EMBEDDINGS = {
    "tsne": "t-SNE", "sne": "SNE", "ee": "elastic embedding", "le": "relaxed Laplacian (LE)",
    "le_b": "Laplacian eigenmaps (LE_B)", "lle": "LLE", "isomap": "Isomap",
    "dm": "diffusion maps", "pca": "PCA",
}  # fmt: skip
"""Names of the embeddings of the base set, and how they are headed."""


@cache
def handwriting() -> datasets.Dataset:
    """Return the digits, split into database and queries."""
    return datasets.digits()


def embeddings() -> Figure:
    """Show the base set of the digits in two dimensions, by every method."""
    data = handwriting()
    figure = Figure(figsize=(7.2, 7.4), layout="constrained")
    axes = figure.subplots(3, 3)
    for panel, (name, heading) in zip(axes.flat, EMBEDDINGS.items(), strict=True):
        hasher = IMH(2, base=KMeansBase(300), embedding=name, rotation=None, random_state=0)
        hasher.fit(data.database)
        closest = metrics.closest_neighbors(data.database, hasher.base_points_, k=1)[:, 0]
        panel.scatter(
            *hasher.base_embedding_.T, c=data.labels[closest], cmap="tab10", s=7, linewidths=0
        )
        panel.set_title(heading)
        panel.set_xticks([])
        panel.set_yticks([])
    return figure


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
    for name, (points, color) in sides.items():
        magnitudes = np.abs(points).ravel()
        spread.hist(magnitudes, bins=60, histtype="step", color=color, lw=1.5, label=name)
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
        relevance = metrics.Relevance.from_labels([label], labels[order])
        values.append(float(metrics.average_precision_by_id(query, codes[order], relevance)[0]))
    return values
