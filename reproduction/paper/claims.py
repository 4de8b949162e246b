"""The claims of the paper's text, and the values it must reach here, as checks on records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from reproduction.experiments.methods import PAPER_METHODS, SCAN
from reproduction.paper import reported
from reproduction.paper.checks import (
    CODE_LENGTHS,
    Check,
    Checks,
    Means,
    MissingRecordsError,
    Setting,
    beats,
    beats_on_average,
    check_descending,
    check_near,
)
from reproduction.shared_types import Record


class Claim(NamedTuple):
    """A claim of the paper, and the comparisons that support it."""

    id: str
    text: str
    checks: Checks


class Verdict(NamedTuple):
    """Whether a claim holds, None if records are missing, and the comparisons that failed."""

    claim: Claim
    holds: bool | None
    failed: list[str]


def judge_claims(claims: Iterable[Claim], records: Iterable[Record]) -> list[Verdict]:
    """Return a verdict on each claim."""
    means = Means(records)
    return [_judge_claim(claim, means) for claim in claims]


def _judge_claim(claim: Claim, means: Means) -> Verdict:
    try:
        checks = list(claim.checks(means))
    except MissingRecordsError:
        return Verdict(claim, None, [])
    failed = [check.text for check in checks if not check.holds]
    return Verdict(claim, not failed if checks else None, failed)


# The checks of single claims


def _base_sizes_near(data: str, tolerance: float) -> Checks:
    """Check IMH-tSNE at 64 bits for up to 2,000 base points."""
    theirs = dict(zip(reported.BASE_SIZES, reported.BASE_SIZE[data], strict=True))
    return lambda means: check_near(
        [
            (f"m = {m:,}", means("map", data, "IMH-tSNE", 64, n_base_points=m), value)
            for m, value in theirs.items()
            if m <= 2000
        ],
        tolerance,
    )


_IMH = ("IMH-LE_B", "IMH-LE", "IMH-tSNE")


def _base_methods_near(means: Means) -> Iterator[Check]:
    values = [
        (f"{n_bits} bits, {method}", means("map", "cifar10", method, n_bits, base=base), value.mean)
        for (n_bits, base, method), value in reported.BASE_METHOD.items()
        if base == "kmeans" and method in _IMH
    ]
    return check_near(values, 0.8, 0.8)


def _base_methods_in_order(means: Means) -> Iterator[Check]:
    for n_bits, method in product((32, 64, 96), _IMH):
        strategies = ("kmeans", "kmedoids", "random")
        settings = [Setting(method, n_bits, (("base", name),)) for name in strategies]
        yield from check_descending(means, "map", "cifar10", *settings)


def _with_base_points(method: str, n_base_points: int) -> Setting:
    return Setting(method, 64, (("n_base_points", n_base_points), ("n_neighbors", 5)))


def _more_base_points_help(means: Means) -> Iterator[Check]:
    for method in ("IMH-tSNE", "IMH-LE"):
        settings = (_with_base_points(method, n) for n in (800, 100))
        yield from check_descending(means, "map", "cifar10", *settings)


def _le_above_le_b(means: Means) -> Iterator[Check]:
    for n_base_points in (100, 200, 300, 400, 500, 600, 700, 800):
        settings = (_with_base_points(name, n_base_points) for name in ("IMH-LE", "IMH-LE_B"))
        yield from check_descending(means, "map", "cifar10", *settings)


def _embedding_helps(means: Means) -> Iterator[Check]:
    """Compare the shares of correct hits with and without the embedding (Fig. 2).

    They are over all digits as queries; over the four that are shown they would be random.
    """
    pairs = (("ℓ2 on t-SNE, 48-D", "ℓ2, 784-D"), ("Hamming, 48 bits", "LSH, 128 bits"))
    if not means.records:
        raise MissingRecordsError("Fig. 2")
    for better, worse in pairs:
        high, low = (
            float(np.mean([r["result"][name]["share"] for r in means.records]))
            for name in (better, worse)
        )
        yield Check(f"correct hits: {better} {high:.1f} %, {worse} {low:.1f} %", high > low)


def _others_collapse(data: str) -> Checks:
    """Check F1 at 64 bits: the others are below a tenth of IMH-tSNE.

    IMH-tSNE itself must keep a third of its F1 at 16 bits.
    """

    def checks(means: Means) -> Iterator[Check]:
        ours, before = (means("f1", data, "IMH-tSNE", n) for n in (64, 16))
        yield Check(f"IMH-tSNE {ours:.3f} at 64 bits, {before:.3f} at 16", ours > before / 3)
        for name in _WITHOUT_BASE_SET:
            theirs = means("f1", data, name, 64)
            text = f"64 bits: {name} {theirs:.4f}, IMH-tSNE {ours:.4f}"
            yield Check(text, theirs < ours / 10)

    return checks


def _trains_faster(winners: Sequence[str], rivals: Sequence[str]) -> Checks:
    """Check that every rival takes longer than every winner."""
    return beats("fit_seconds", "mnist", rivals, winners, (64, 128))


def _classification_reached(means: Means) -> Iterator[Check]:
    ours = means("accuracy", "mnist", "IMH-tSNE", 128)
    return check_near([("IMH-tSNE, 128 bits", ours, reported.CLASSIFICATION)], 0.0)


# The claims

_RIVALS = [name for name in PAPER_METHODS if name != "IMH-tSNE"]
_WITHOUT_BASE_SET = [name for name in PAPER_METHODS if not name.startswith(("IMH", "AGH"))]
_SUPERVISED = ("IMHs", "IMHs-ITQ")
_LEARNED = ("IMH-tSNE", "SSH", "KSH", "CCA-ITQ")


def _all_but(method: str) -> list[str]:
    return [name for name in PAPER_METHODS if name != method]


def _rotation_claims(data: str) -> list[Claim]:
    name = reported.DATA_NAMES[data]
    return [
        Claim(f"itq-lifts-tsne-{data}", f"ITQ lifts F1 of IMH-tSNE on {name}, at every length",
              beats("f1", data, ["IMH-tSNE-ITQ"], ["IMH-tSNE"])),
        Claim(f"itq-lifts-le-{data}", f"ITQ lifts F1 of IMH-LE on {name}, at every length",
              beats("f1", data, ["IMH-LE-ITQ"], ["IMH-LE"])),
        Claim(f"itq-imh-above-pca-{data}",
              f"IMH with ITQ above PCA-ITQ by F1 on {name}, at every length",
              beats("f1", data, ["IMH-tSNE-ITQ", "IMH-LE-ITQ"], ["ITQ"])),
    ]  # fmt: skip


def _lookup_claims(data: str) -> list[Claim]:
    return [
        Claim(f"lookup-{name.lower()}-{measure}-{data}",
              f"{name} above the methods without a base set by {title}, from 32 bits",
              beats(measure, data, [name], _WITHOUT_BASE_SET, (32, 48, 64, 96)))
        for name in ("IMH-tSNE", "IMH-LE")
        for measure, title in (("f1", "F1"), ("recall", "recall"))
    ]  # fmt: skip


def _supervision_claims(data: str) -> list[Claim]:
    name = reported.DATA_NAMES[data]
    return [
        Claim(f"supervised-{winner.lower()}-{measure}-{data}",
              f"{winner} above IMH, SSH, KSH and CCA-ITQ at 9 bits by {title} on {name}",
              beats(measure, data, [winner], _LEARNED, [9]))
        for winner in _SUPERVISED
        for measure, title in (("map", "MAP"), ("f1", "F1"))
    ] + [
        Claim(f"supervised-itq-{data}", f"ITQ lifts MAP of IMHs on {name}",
              beats("map", data, ["IMHs-ITQ"], ["IMHs"], [9]))
    ]  # fmt: skip


CLAIMS: dict[str, list[Claim]] = {
    "fig-query-digits": [
        Claim("query-digits", "after embedding more of the neighbors are correct",
              _embedding_helps),
    ],
    "fig-embeddings": [
        Claim("embeddings-sne-above-le", "t-SNE, SNE and EE above LE",
              beats_on_average(
                  "map", "cifar10", ["IMH-tSNE", "IMH-SNE", "IMH-EE"], ["IMH-LE"])),
        Claim("embeddings-le-above-le-b", "LE above LE on the base set alone",
              beats_on_average("map", "cifar10", ["IMH-LE"], ["IMH-LE_B"])),
        Claim("embeddings-above-scan", "t-SNE, SNE, EE and LE above the exhaustive ℓ2 scan",
              beats_on_average(
                  "map", "cifar10", ["IMH-tSNE", "IMH-SNE", "IMH-EE", "IMH-LE"], [SCAN])),
        Claim("embeddings-pca-above-le-b", "PCA above LE on the base set alone",
              beats_on_average("map", "cifar10", ["IMH-PCA"], ["IMH-LE_B"])),
        Claim("embeddings-imh-pca-above-pcah", "IMH-PCA above PCAH",
              beats_on_average("map", "cifar10", ["IMH-PCA"], ["PCAH"])),
    ],
    "fig-base-size": [
        Claim("base-size-helps", "MAP is higher with 800 base points than with 100",
              _more_base_points_help),
        Claim("base-size-le-above-le-b",
              "LE above LE on the base set alone, for every size of the base set",
              _le_above_le_b),
    ],
    "table-base-method": [
        Claim("base-method-near", "within 0.8 of the paper with K-means", _base_methods_near),
        Claim("base-method-order", "K-means above K-medians above random",
              _base_methods_in_order),
    ],
    "table-base-size": [
        Claim("base-size-mnist", "MNIST at most 1.5 below the paper, up to m = 2,000",
              _base_sizes_near("mnist", 1.5)),
        Claim("base-size-cifar10", "CIFAR-10 at most 0.6 below the paper, up to m = 2,000",
              _base_sizes_near("cifar10", 0.6)),
    ],
    "fig-cifar": [
        Claim("cifar-imh-tsne-map", "IMH-tSNE has the highest MAP at every length",
              beats("map", "cifar10", ["IMH-tSNE"], _RIVALS)),
        Claim("cifar-imh-le-above-agh-sth", "IMH-LE above AGH and STH by MAP at every length",
              beats("map", "cifar10", ["IMH-LE"], ["AGH", "STH"])),
        Claim("cifar-imh-tsne-f1",
              "IMH-tSNE above the methods without a base set by F1 at every length",
              beats("f1", "cifar10", ["IMH-tSNE"], _WITHOUT_BASE_SET)),
    ],
    "fig-mnist": [
        Claim("mnist-imh-tsne-map", "IMH-tSNE has the highest MAP at every length",
              beats("map", "mnist", ["IMH-tSNE"], _RIVALS)),
        Claim("mnist-imh-tsne-f1", "IMH-tSNE has the highest F1 at every length",
              beats("f1", "mnist", ["IMH-tSNE"], _RIVALS)),
        Claim("mnist-imh-le", "IMH-LE above AGH, STH and SH by MAP at every length",
              beats("map", "mnist", ["IMH-LE"], ["AGH", "STH", "SH"])),
        Claim("mnist-pcah-lowest", "PCAH has the lowest MAP of all, from 32 bits",
              beats("map", "mnist", _all_but("PCAH"), ["PCAH"], CODE_LENGTHS[1:])),
    ],
    "table-time": [
        Claim("time-pcah-fastest", "PCAH is the fastest to train",
              _trains_faster(["PCAH"], _all_but("PCAH"))),
        Claim("time-imh-agh-faster", "IMH and AGH train faster than STH and BRE",
              _trains_faster(["IMH-tSNE", "IMH-LE", "AGH"], ["STH", "BRE"])),
    ],
    "fig-sift": [
        Claim("sift-collapse", "F1 of the others collapses at 64 bits, that of IMH-tSNE does not",
              _others_collapse("sift_photos")),
        Claim("sift-itq-16", "ITQ has the highest F1 at 16 bits",
              beats("f1", "sift_photos", ["ITQ"], _all_but("ITQ"), [16])),
        *_lookup_claims("sift_photos"),
    ],
    "fig-gist": _lookup_claims("gist_cifar"),
    "fig-classify": [
        Claim("classify-94", "94.1 % at 128 bits", _classification_reached),
        Claim("classify-imh-tsne",
              "IMH-tSNE above the methods without a base set at every length",
              beats("accuracy", "mnist", ["IMH-tSNE"], _WITHOUT_BASE_SET)),
    ],
    "fig-itq": [*_rotation_claims("mnist"), *_rotation_claims("cifar10")],
    "fig-supervised": [*_supervision_claims("mnist"), *_supervision_claims("cifar10")],
}  # fmt: skip
"""Claims by artifact; their ids are unique."""
