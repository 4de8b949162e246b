"""Where others have reported MAP on MNIST: the same methods at the same settings, beside it.

``python -m reproduction.published docs`` runs what has no record yet and writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfold import datasets, metrics
from bitfold import hashers as h
from bitfold.base_set import KMeansBase
from bitfold.datasets import Dataset
from reproduction.records import Case, Records

SEEDS = range(3)

CLOSE = 2.0
"""Points of MAP within which a figure counts as reproduced."""


class Published(NamedTuple):
    """A method's MAP in percent by code length, and how to make it as it was made there."""

    method: str
    settings: str
    make: Callable[[int], h.Hasher]
    figures: dict[int, float]
    source: str
    n_labels: int = 0
    remark: str = ""


def _by_length(*values: float) -> dict[int, float]:
    """Spread over the lengths of the table: 12, 24, 32 and 48 bits, or 24 and 48."""
    return dict(zip((12, 24, 32, 48) if len(values) == 4 else (24, 48), values, strict=True))


XIA, LIU = "Xia et al. 2014", "Liu et al. 2011"

PUBLISHED = [
    Published(
        "LSH", "center=False", lambda b: h.LSH(b, center=False),
        _by_length(18.7, 20.9, 23.5, 24.3), XIA,
        remark="Random planes: at 48 bits single seeds lie between 25.5 and 27.8.",
    ),
    Published("SH", "", h.SH, _by_length(26.5, 26.7, 25.9, 25.0), XIA),
    Published("ITQ", "", h.ITQ, _by_length(38.8, 43.6, 42.2, 42.9), XIA),
    Published(
        "CCA-ITQ", "5,000 labels", h.CCAITQ, _by_length(65.9, 69.4, 71.4, 72.6), XIA, 5000,
    ),
    Published(
        "KSH", "n_samples=5000", lambda b: h.KSH(b, n_samples=5000),
        _by_length(87.2, 89.1, 89.7, 90.0), XIA, 5000,
        remark="At 12 bits the kernel decides: with two thirds of our σ, or 1,000 anchors instead "
        "of 300, more than the published figure is reached. Neither is stated there.",
    ),
    Published("PCAH", "", h.PCAH, _by_length(26.0, 22.4), LIU),
    Published("KLSH", "", h.KLSH, _by_length(25.6, 30.5), LIU),
    Published(
        "SKLSH", "", h.SKLSH, _by_length(19.5, 19.7), LIU,
        remark="The bandwidth behind the published figure is not stated; ours is the mean "
        "distance to the 50th neighbor.",
    ),
    Published(
        "AGH", "m=300, k=2", lambda b: h.AGH(b, n_layers=1, base=KMeansBase(300), n_neighbors=2),
        _by_length(50.0, 39.7), LIU,
    ),
    Published(
        "AGH-2", "m=300, k=2", lambda b: h.AGH(b, n_layers=2, base=KMeansBase(300), n_neighbors=2),
        _by_length(67.4, 64.1), LIU,
        remark="Depends on the anchors, of which the published run had one set.",
    ),
]  # fmt: skip

HEAD = """# Against published figures

MAP in percent on MNIST's pixels (69,000 digits, 1,000 queries, same digit is relevant, whole
ranking), mean of three seeds here, beside what others reported for the same method at the same
settings: Xia et al., *Supervised hashing for image retrieval via image representation learning*,
AAAI 2014, whose supervised methods see 5,000 labels, and Liu et al., *Hashing with graphs*, ICML
2011. Both sets of figures are quoted second hand. Made by
`python -m reproduction.published docs`; `make paper` checks it.

Different queries, different seeds and the treatment of ties (here: expected over all orders) are
worth a point; a difference of more than two is marked **bold** and spoken of below.
"""

TAIL = """
No published MAP on MNIST's pixels was found for STH, SpH, MDSH, SSH, LLH, LDAHash, RMMH and
PStableLSH, nor for BRE without labels; these rest on the tests of what defines them. Choices of
ours that differ from code which their authors gave out, and may move a figure:

- MDSH: directions are cut at 6 σ and not at percentiles, the histogram has 256 bins, and when
  eigenfunctions of weight run out weaker ones follow instead of repeated thresholds; its authors
  rank by the weighted affinity (`MDSH.affinity`), the comparison here by Hamming distance.
- BRE: pairs are random ones and the nearest 5 %, coordinate descent makes three full sweeps.
- SSH: correction step 0.3 at unit mean square instead of 1 on raw projections. The weight of the
  variance term makes no difference of a point (0.005 to 0.1).
- STH: machines have C = 10 and an intercept; C = 1 gives about a point more at 16 and 32 bits and
  fits the sample worse. A linear machine cannot follow the later eigenvectors: of the sample's bits
  90 % are met at 16 bits and 80 % at 64, with C from 1 to 1,000, 25 or 100 neighbors, and graphs
  by Euclidean distance, by cosine or with equal weights.
"""


def measure(published: Published, n_bits: int, seed: int, data: Dataset) -> float:
    """Return MAP in percent."""
    hasher = published.make(n_bits)
    if "random_state" in hasher.get_params():
        hasher.set_params(random_state=seed)
    hasher.fit(data.train, _labels(data, published.n_labels, seed))
    codes, queries = hasher.encode(data.database), hasher.encode(data.queries)
    return 100 * float(metrics.mean_average_precision(queries, codes, data.relevance))


def _labels(data: Dataset, n_labels: int, seed: int) -> NDArray[Any] | None:
    """Keep so many labels at random; the others become -1, unlabeled."""
    if not n_labels or data.labels is None:
        return None
    kept = np.random.default_rng(seed).permutation(len(data.labels))[:n_labels]
    y = np.full(len(data.labels), -1)
    y[kept] = data.labels[kept]
    return y


def run(records: Records, data: Callable[[], Dataset]) -> dict[tuple[str, int], float]:
    """Return the means over seeds by method and length; what has a record is not run again."""
    means = {}
    for published in PUBLISHED:
        for n_bits in published.figures:
            values = [_recorded(published, n_bits, seed, records, data) for seed in SEEDS]
            means[published.method, n_bits] = float(np.mean(values))
    return means


def _recorded(
    published: Published, n_bits: int, seed: int, records: Records, data: Callable[[], Dataset]
) -> float:
    settings = (("settings", published.settings),)
    case = Case("mnist", published.method, n_bits, seed, measure="published", options=settings)
    if case not in records:
        records.add(case, {"map": measure(published, n_bits, seed, data())})
    return float(records[case]["result"]["map"])


def page(means: dict[tuple[str, int], float], folder: Path) -> Path:
    """Write the page."""
    path = folder / "published.md"
    path.write_text("\n".join([HEAD, *_table(means), TAIL]), encoding="utf-8")
    return path


def _table(means: dict[tuple[str, int], float]) -> Iterator[str]:
    yield "| method | settings | bits | here | published | difference | source |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    for p in PUBLISHED:
        for n_bits, figure in p.figures.items():
            ours = means[p.method, n_bits]
            gap = f"{ours - figure:+.1f}"
            shown = gap if abs(ours - figure) <= CLOSE else f"**{gap}**"
            yield (
                f"| {p.method} | {p.settings or 'defaults'} | {n_bits} | {ours:.1f} | {figure:.1f} "
                f"| {shown} | {p.source} |"
            )
    yield ""
    yield from (f"- {p.method}: {p.remark}" for p in PUBLISHED if p.remark)


if __name__ == "__main__":
    docs = Path(sys.argv[1])
    page(run(Records(docs / "published.jsonl"), datasets.mnist), docs)
