"""What the paper reports in its tables and its text, to be shown next to our results."""

from __future__ import annotations

from typing import NamedTuple


class Reported(NamedTuple):
    """A mean over runs, in percent, and its standard deviation where the paper gives one."""

    mean: float
    deviation: float | None = None


DATA_NAMES = {
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "mnist, other queries": "MNIST, other queries",
    "cifar10, other queries": "CIFAR-10, other queries",
    "sift_photos": "SIFT-1M-photos, a stand-in for SIFT1M",
    "sift1m": "SIFT1M",
    "gist_cifar": "GIST-960-CIFAR, a stand-in for GIST1M",
    "gist1m": "GIST1M",
}
"""Data sets as they are called in the report."""

SYMBOLS = {"n_base_points": "m", "n_neighbors": "k"}
"""The paper's symbols of our parameters."""

N_RUNS = 10
"""Runs that the paper's means are over."""

BASE_METHOD: dict[tuple[int, str, str], Reported] = {
    (n_bits, base, method): Reported(*value)
    for n_bits, base, *row in (
        (32, "random", (14.07, 0.27), (16.20, 0.19), (17.26, 0.43)),
        (32, "kmedoids", (15.14, 0.15), (17.08, 0.21), (17.32, 0.27)),
        (32, "kmeans", (16.05, 0.16), (17.48, 0.44), (18.38, 0.36), (15.76, 0.17)),
        (64, "random", (14.64, 0.17), (16.98, 0.21), (16.93, 0.49)),
        (64, "kmedoids", (15.43, 0.12), (17.11, 0.17), (17.62, 0.31)),
        (64, "kmeans", (15.90, 0.11), (18.20, 0.37), (19.04, 0.27), (14.55, 0.13)),
        (96, "random", (14.76, 0.20), (17.02, 0.23), (17.21, 0.48)),
        (96, "kmedoids", (15.42, 0.19), (17.21, 0.28), (17.73, 0.28)),
        (96, "kmeans", (15.46, 0.09), (18.56, 0.34), (19.41, 0.23), (13.98, 0.10)),
    )
    for method, value in zip(("IMH-LE_B", "IMH-LE", "IMH-tSNE", "AGH"), row, strict=False)
}
"""Table I: MAP on CIFAR-10 by code length, base set and method."""

BASE_SIZES = (100, 200, 400, 800, 1000, 1500, 2000, 3000, 4000, 5000, 10000)

BASE_SIZE: dict[str, tuple[float, ...]] = {
    "cifar10": (17.55, 18.19, 19.52, 19.99, 20.11, 20.13, 20.05, 20.23, 20.37, 20.45, 20.85),
    "mnist": (57.01, 67.72, 77.78, 79.71, 80.40, 82.52, 82.10, 86.47, 85.66, 87.37, 87.74),
}
"""Table II: MAP of IMH-tSNE at 64 bits, one value per size of the base set."""

BASE_SIZE_SECONDS: dict[str, tuple[float, ...]] = {
    "cifar10": (
        0.7754, 1.3913, 4.2850, 13.5576, 21.3487, 53.5668, 97.6969, 229.61, 419.4027, 664.0867,
        2701.8001,
    ),
    # The paper prints 814.7084 s for m = 800, between 4.6 s and 22.7 s; 14.7084 must be meant.
    "mnist": (
        0.9546, 1.6804, 4.6302, 814.7084, 22.7297, 54.7796, 102.1419, 232.8753, 423.6395, 669.6443,
        2707.8012,
    ),
}  # fmt: skip
"""Table II: seconds to train."""

BASE_SIZE_MS: dict[str, tuple[float, ...]] = {
    "cifar10": (
        0.0057, 0.0095, 0.0157, 0.0254, 0.0308, 0.0475, 0.0621, 0.1045, 0.1388, 0.1981, 0.3634,
    ),
    "mnist": (
        0.0074, 0.0122, 0.0182, 0.0330, 0.0394, 0.0579, 0.0984, 0.1222, 0.2032, 0.2293, 0.4357,
    ),
}  # fmt: skip
"""Table II: milliseconds to encode one query."""

SECONDS: dict[str, tuple[float, float, float, float]] = {
    "IMH-LE": (9.9, 9.9, 5.1e-5, 3.8e-5),
    "IMH-tSNE": (16.7, 20.2, 2.8e-5, 3.1e-5),
    "SH": (6.8, 16.2, 5.8e-5, 1.8e-4),
    "STH": (266.1, 485.4, 1.8e-3, 3.6e-3),
    "AGH": (9.5, 9.5, 4.7e-5, 5.5e-5),
    "PCAH": (3.8, 4.1, 5.7e-6, 1.2e-5),
    "SpH": (19.7, 41.0, 1.3e-5, 2.0e-5),
    "ITQ": (10.4, 20.3, 6.9e-6, 1.1e-5),
    "BRE": (418.9, 1731.9, 1.2e-5, 2.4e-5),
}
"""Table III: seconds on MNIST to train at 64 and 128 bits, and to encode one point at both."""

CLASSIFICATION = 94.1
"""Accuracy of a linear SVM on 128-bit codes of MNIST, and on the pixels (Sec. IV-E)."""


class Stated(NamedTuple):
    """A number that the text states for a method."""

    measure: str
    data: str
    method: str
    n_bits: int
    reported: Reported


STATED: dict[str, list[Stated]] = {
    "fig-classify": [
        Stated(measure, "mnist", method, n_bits, Reported(CLASSIFICATION))
        for method, n_bits in (("IMH-tSNE", 128), ("ℓ2 scan", 0))
        for measure in ("accuracy", "accuracy_ovo")
    ],
    "fig-sift": [
        Stated("f1", "sift_photos", "IMH-tSNE", 64, Reported(0.2)),
        Stated("f1", "sift1m", "IMH-tSNE", 64, Reported(0.2)),
    ],
}
"""Numbers that the text states about figures."""

QUOTES: dict[str, str] = {
    "other-queries": "(the paper has one choice of queries per data set)",
    "unit-rows": "(the paper does not say how rows are scaled)",
    "supplement": "“Please refer to the complementary for complete results for other code "
    "lengths.”",
    "fig-query-digits": "“searching using either the Euclidean or Hamming distance after nonlinear "
    "embedding results in more semantically accurate neighbors than the same search in the "
    "original feature space”",
    "fig-embeddings": "“IMH-tSNE, IMH-SNE and IMH-EE perform slightly better than IMH-LE … all of "
    "these methods perform better than an exhaustive ℓ2 scan”; LE on the base set alone “performs "
    "worse than PCA”; “IMH-PCA outperforms PCAH by a large margin”",
    "fig-base-size": "“the performance … is consistently improved with the increasing base set "
    "size m … does not change significantly with the number of nearest base points k”",
    "table-base-method": "“the performance of the proposed methods using K-means is better at all "
    "code lengths than that using other two methods”",
    "table-base-size": "“for CIFAR-10, the MAP score by IMH-tSNE improves consistently with the "
    "increasing base set size m when m ≤ 400, while does not change dramatically with larger m. On "
    "MNIST, the performance … is also consistently improved when m increases”",
    "fig-2d": "“most of the points are close to their corresponding clusters (with respect to 10 "
    "digits)”",
    "fig-cifar": "“IMH-LE and IMH-tSNE perform best in all cases … IMH-LE is still much better "
    "than AGH and STH … SH and PCAH perform worst”",
    "fig-cifar-pr": "“STH and AGH obtain relatively high precisions when a small number of samples "
    "are returned … IMH-tSNE, IMH-LE and ITQ achieve higher precisions with relatively larger "
    "numbers of retrieved points”",
    "fig-retrieved": "“IMH-tSNE achieves the best search quality in term of visual relevance”",
    "fig-mnist": "“IMH-tSNE achieves the best results … outperforms IMH-LE by a large margin, "
    "which increases as code length increases … PCAH performs worst in terms of both MAP and the "
    "F1 measure”",
    "table-time": "“the linear method, PCAH, is fastest. IMH-tSNE is slower than IMH-LE, AGH and "
    "SH in terms of training time, however all of these … are much faster than STH and BRE”",
    "fig-sift": "“ITQ obtains the highest F1 with 16-bits, however it decreases to near zero at "
    "64-bits. In contrast, IMH-tSNE still manages an F1 of 0.2”",
    "fig-gist": "“IMH consistently achieves superior results in terms of both F1 score and recall "
    "with Hamming radius 2”",
    "fig-classify": "“even with only 128-bit binary features IMH obtains a high 94.1%. … the same "
    "classification rate of 94.1% is obtained by applying the linear SVM to the uncompressed 784D "
    "features”",
    "fig-itq": "“the orthogonal rotations achieve significantly performance improvements (in terms "
    "of both F1 and recall) for IMH-LE and IMH-tSNE … perform much better than the PCA based "
    "PCA-ITQ”",
    "fig-supervised": "“IMHs significantly improve the original IMH and other compared supervised "
    "methods in both MAP and F1 measure. The ITQ rotations … further improves IMHs”",
}
"""What the paper says about each artifact; it publishes no numbers behind its figures."""

TIMES_NOTE = (
    "Times depend on the machine. The paper's are from a 4-core desktop PC (3.07 GHz in Table III, "
    "3.40 GHz in Table II) and from the authors' MATLAB and C++ programs. Times that "
    "were measured while other programs used the cores are not recorded; python -m reproduction "
    "table-time --times measures them again."
)
"""What to know about times."""
