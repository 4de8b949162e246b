"""Statements about supervised methods: Fig. 14."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from reproduction.paper import reported
from reproduction.paper.checks import (
    CODE_LENGTHS,
    Check,
    Checks,
    Measured,
    MissingRecordsError,
    Setting,
    all_of,
    beats,
    check_descending,
    check_value,
)
from reproduction.paper.degrees import MUCH, SIGNIFICANTLY, Degree
from reproduction.paper.intervals import estimate_difference
from reproduction.paper.statement import Group, Statement

N_BITS = 9
RIVALS = ("SSH", "KSH", "CCA-ITQ")
LONG_CODES = (64, 96, 128)
MEASURES = (("map", "MAP"), ("f1", "F1"))


def beats_all_lengths(
    measure: str, data: str, winner: str, rivals: Sequence[str], degree: Degree
) -> Checks:
    """Check 9 bits against every code length that the figure shows of the rivals."""

    def checks(measured: Measured) -> Iterator[Check]:
        for rival, n_bits in product(rivals, (N_BITS, *CODE_LENGTHS)):
            pair = (Setting(winner, N_BITS), Setting(rival, n_bits))
            yield from check_descending(measured, measure, data, *pair, degree=degree)

    return checks


def _gains_more_on_cifar(measured: Measured) -> Iterator[Check]:
    """Compare the gains by ITQ in MAP, relative to IMHs."""
    gains: dict[str, dict[int, float]] = {}
    for data in ("mnist", "cifar10"):
        rotated, plain = (
            measured.values("map", data, Setting(name, N_BITS)) for name in ("IMHs-ITQ", "IMHs")
        )
        gains[data] = {s: 100 * (rotated[s] / plain[s] - 1) for s in rotated.keys() & plain.keys()}
        if not gains[data]:
            raise MissingRecordsError(f"IMHs and IMHs-ITQ with one seed on {data}")
    means = {data: sum(gain.values()) / len(gain) for data, gain in gains.items()}
    text = f"MAP rises by {means['cifar10']:.1f} % on CIFAR-10, by {means['mnist']:.1f} % on MNIST"
    yield check_value(text, estimate_difference(gains["cifar10"], gains["mnist"]))


def _ksh_needs_longer_codes(data: str) -> Checks:
    """Check that KSH with up to 32 bits is below IMHs with 9."""

    def checks(measured: Measured) -> Iterator[Check]:
        for n_bits in (N_BITS, 16, 32):
            pair = (Setting("IMHs", N_BITS), Setting("KSH", n_bits))
            yield from check_descending(measured, "map", data, *pair)

    return checks


def _list_statements(data: str) -> list[Statement]:
    name = reported.DATA_NAMES[data]
    return [
        *(
            Statement(f"supervised-above-imh-{measure}-{data}", 995,
                      "the proposed supervised inductive manifold hashing algorithm IMHs "
                      f"significantly improve the original IMH … ({title}, {name})",
                      "IMHs with 9 bits above IMH-tSNE at every code length shown: "
                      f"{SIGNIFICANTLY.criterion}",
                      beats_all_lengths(measure, data, "IMHs", ["IMH-tSNE"], SIGNIFICANTLY),
                      sentence="supervised-improves")
            for measure, title in MEASURES
        ),
        *(
            Statement(f"supervised-above-others-{measure}-{data}", 995,
                      f"IMHs significantly improve … other compared supervised methods ({title}, "
                      f"{name})",
                      "IMHs with 9 bits above SSH, KSH and CCA-ITQ at every code length shown: "
                      f"{SIGNIFICANTLY.criterion}",
                      beats_all_lengths(measure, data, "IMHs", RIVALS, SIGNIFICANTLY),
                      sentence="supervised-improves")
            for measure, title in MEASURES
        ),
        Statement(f"supervised-itq-{data}", 996,
                  "The ITQ rotations (IMHs-ITQ in the figure) further improves IMHs with "
                  f"considerable gains ({name})",
                  f"MAP and F1 at 9 bits, {MUCH.criterion}",
                  all_of(*(beats(measure, data, ["IMHs-ITQ"], ["IMHs"], [N_BITS], degree=MUCH)
                           for measure, _ in MEASURES)),
                  sentence="supervised-itq"),
        Statement(f"supervised-ksh-best-{data}", 997,
                  "Among other supervised hashing methods, KSH obtains the highest MAPs on MNIST "
                  f"and CIFAR ({name})",
                  "above SSH and CCA-ITQ at every code length",
                  beats("map", data, ["KSH"], ["SSH", "CCA-ITQ"]), sentence="supervised-ksh-best"),
        Statement(f"supervised-ksh-longer-{data}", 997,
                  "However it needs much larger binary code lengths to achieve comparable "
                  f"performance with the proposed methods ({name})",
                  "MAP of KSH with 9, 16 and 32 bits below IMHs with 9",
                  _ksh_needs_longer_codes(data), sentence="supervised-ksh-longer"),
        Statement(f"supervised-cca-itq-f1-{data}", 997,
                  "In terms of F1, CCA-ITQ is identified to have the best results with long codes "
                  f"({name})",
                  "F1 above SSH and KSH at 64, 96 and 128 bits",
                  beats("f1", data, ["CCA-ITQ"], ["SSH", "KSH"], LONG_CODES),
                  sentence="supervised-cca-itq-f1"),
    ]  # fmt: skip


STATEMENTS: Group = {
    "fig-supervised": [
        *_list_statements("mnist"),
        *_list_statements("cifar10"),
        Statement("supervised-itq-more-on-cifar", 996,
                  "especially on the CIFAR dataset of natural images",
                  "the relative gain of IMHs in MAP by ITQ is larger on CIFAR-10",
                  _gains_more_on_cifar),
    ],
}  # fmt: skip
"""Statements by artifact."""
