"""The fits of the page: methods, and how many labels they see."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bitfold import hashers as h
from reproduction.records import Case

MEASURE = "labels"
"""Name of the measurement in cases."""

DATA = ("mnist", "cifar10")
"""Data sets of the page, in the order in which they are measured."""

N_BITS = 64
N_LABELS = 5000
N_LEFT_OUT = 3

ALL, FEW, SEVEN = "all", "5,000", "seven classes"
"""Labels that a method sees: of all rows, of 5,000, or of all rows of seven of the ten classes."""


class Contender(NamedTuple):
    """A method, and in which tables it is."""

    make: Callable[[], h.Hasher]
    labels: tuple[str, ...] = (ALL, FEW, SEVEN)
    uses_labels: bool = True


UNSUPERVISED = "DualHasher(64)"
"""The method that supervised ones are compared with."""

CONTENDERS: dict[str, Contender] = {
    UNSUPERVISED: Contender(lambda: h.DualHasher(N_BITS), uses_labels=False),
    "DualHasher(64, coarse=SupervisedIMH())": Contender(
        lambda: h.DualHasher(N_BITS, coarse=h.SupervisedIMH()), (ALL, SEVEN)
    ),
    "DualHasher(64, coarse=FSDH(n_anchors=5000), n_coarse_bits=40, coarse_weight=2)": Contender(
        lambda: h.DualHasher(
            N_BITS, coarse=h.FSDH(n_anchors=5000), n_coarse_bits=40, coarse_weight=2
        )
    ),
    "DualHasher(64, coarse=FSDH(), n_coarse_bits=16, fine=DualHasher())": Contender(
        lambda: h.DualHasher(N_BITS, coarse=h.FSDH(), n_coarse_bits=16, fine=h.DualHasher()),
        (ALL, SEVEN),
    ),
    "FSDH(64)": Contender(lambda: h.FSDH(N_BITS)),
    "SDH(64)": Contender(lambda: h.SDH(N_BITS), (ALL, FEW)),
}
"""The methods by the Python expressions that make them, in the order of the tables."""


def list_cases(data: tuple[str, ...] = DATA, n_seeds: int = 3) -> list[Case]:
    """Return the cases of the page, those of each data set together.

    What a method without labels learns does not depend on their number.
    """
    return [
        make_case(name, method, labels, seed)
        for name in data
        for labels in (ALL, FEW, SEVEN)
        for method, contender in CONTENDERS.items()
        if labels in contender.labels and (contender.uses_labels or labels != FEW)
        for seed in range(n_seeds)
    ]


def make_case(data: str, method: str, labels: str, seed: int = 0) -> Case:
    """Return one case."""
    return Case(data, method, N_BITS, seed, measure=MEASURE, options=(("labels", labels),))


def find_labels(case: Case) -> str:
    """Return which labels the method of a case sees."""
    return str(dict(case.options)["labels"])


def list_left_out(seed: int, n_classes: int = 10) -> list[int]:
    """Return the classes that are left out with a seed: 0, 1, 2 with the first, and so on."""
    return [(N_LEFT_OUT * seed + i) % n_classes for i in range(N_LEFT_OUT)]
