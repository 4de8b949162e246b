"""Statements about manifold methods: Fig. 2, Fig. 3 and Fig. 5."""

from __future__ import annotations

import math
from collections.abc import Iterator

from reproduction.experiments.methods import SCAN
from reproduction.paper.checks import (
    Check,
    Checks,
    Measured,
    MissingRecordsError,
    beats,
    check_value,
)
from reproduction.paper.degrees import MUCH, SLIGHTLY
from reproduction.paper.intervals import Estimate
from reproduction.paper.statement import Group, Statement

STOCHASTIC = ("IMH-tSNE", "IMH-SNE", "IMH-EE")


def _share_is_higher(better: str, worse: str) -> Checks:
    """Compare shares of correct hits over all digits; over four queries they would be random."""

    def checks(measured: Measured) -> Iterator[Check]:
        if not measured.records:
            raise MissingRecordsError("Fig. 2")
        result = measured.records[0]["result"]
        high, low = (result[name]["share"] for name in (better, worse))
        low_end, high_end = (result[name].get("half_width", 0.0) for name in (better, worse))
        half = (low_end**2 + high_end**2) ** 0.5
        margin = Estimate(high - low, high - low - half, high - low + half)
        yield check_value(f"correct hits: {better} {high:.1f} %, {worse} {low:.1f} %", margin)

    return checks


def _most_points_are_near(measured: Measured) -> Iterator[Check]:
    if not any("share" in record["result"] for record in measured.records):
        raise MissingRecordsError("Fig. 5")
    share = next(r["result"]["share"] for r in measured.records if "share" in r["result"])
    text = f"{share:.1f} % of the points are nearest to a base point of their own class"
    yield check_value(f"{text}, relative to half", Estimate(share - 50, -math.inf, math.inf))


STATEMENTS: Group = {
    "fig-query-digits": [
        Statement("digits-euclidean", 257,
                  "searching using … the Euclidean … distance after nonlinear embedding results in "
                  "more semantically accurate neighbors than the same search in the original "
                  "feature space",
                  "share of correct hits among the first ten, every one of the 300 digits a query",
                  _share_is_higher("ℓ2 on t-SNE, 48-D", "ℓ2, 784-D"), sentence="digits"),
        Statement("digits-hamming", 257,
                  "searching using … Hamming distance after nonlinear embedding results in more "
                  "semantically accurate neighbors",
                  "48 bits after t-SNE against 128 bits of LSH, as in the figure",
                  _share_is_higher("Hamming, 48 bits", "LSH, 128 bits"), sentence="digits"),
    ],
    "fig-embeddings": [
        Statement("embeddings-above-le", 661,
                  "IMH-tSNE, IMH-SNE and IMH-EE perform slightly better than IMH-LE",
                  f"MAP above IMH-LE {SLIGHTLY.criterion} at every code length",
                  beats("map", "cifar10", STOCHASTIC, ["IMH-LE"], degree=SLIGHTLY)),
        Statement("embeddings-above-scan", 664,
                  "all of these methods perform better than an exhaustive ℓ2 scan using the "
                  "uncompressed GIST features",
                  "the four methods of the sentence before, MAP at every code length",
                  beats("map", "cifar10", [*STOCHASTIC, "IMH-LE"], [SCAN])),
        Statement("embeddings-le-b-below-tsne", 667,
                  "LE (IMH-LE_B in the figure) … does not perform as well as a variety of other "
                  "methods (e.g., t-SNE)",
                  "below t-SNE, SNE and EE, MAP at every code length",
                  beats("map", "cifar10", STOCHASTIC, ["IMH-LE_B"])),
        Statement("embeddings-le-b-below-pca", 667,
                  "and in fact performs worse than PCA, which is a linear technique",
                  "IMH-PCA above IMH-LE_B, MAP at every code length",
                  beats("map", "cifar10", ["IMH-PCA"], ["IMH-LE_B"])),
        Statement("embeddings-pca-above-pcah", 674,
                  "IMH-PCA outperforms PCAH by a large margin",
                  f"MAP higher {MUCH.criterion} at every code length",
                  beats("map", "cifar10", ["IMH-PCA"], ["PCAH"], degree=MUCH)),
    ],
    "fig-2d": [
        Statement("plane-clusters", 755,
                  "most of the points are close to their corresponding clusters (with respect to "
                  "10 digits)",
                  "more than half of the points have a nearest base point, in the plane, of their "
                  "own class; the class of a base point is that of most of its points",
                  _most_points_are_near),
    ],
}  # fmt: skip
"""Statements by artifact."""
