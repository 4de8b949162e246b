"""Statements about classification on the codes: Fig. 12."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.checks import (
    CODE_LENGTHS,
    Check,
    Checks,
    Measured,
    Setting,
    beats,
    check_value,
    format_interval,
    format_range,
    is_near,
)
from reproduction.paper.intervals import Estimate, estimate_difference, subtract_from
from reproduction.paper.statement import Group, Statement
from reproduction.paper.statements.comparisons import IMH, list_all_but

HIGH_ACCURACY = 90.0
"""Accuracy that counts as high; the best method without a base set stays below it."""

SAME_RATE = 1.0
"""Difference of accuracies in percent up to which they are the same."""

_MACHINES = (("accuracy", "one-versus-rest"), ("accuracy_ovo", "one-versus-one"))

_WITHOUT_BASE_SET = list_all_but("AGH", *IMH)


def reaches(accuracy: float, methods: Sequence[str], lengths: Sequence[int]) -> Checks:
    """Check that methods have more than an accuracy at all of some code lengths."""

    def checks(measured: Measured) -> Iterator[Check]:
        for n_bits, name in product(lengths, methods):
            mean = measured.mean("accuracy", "mnist", Setting(name, n_bits))
            margin = Estimate(*(value - accuracy for value in mean))
            text = f"{n_bits} bits: {name} {mean.mean:.2f} % {format_range(mean)}"
            yield Check(text, margin.mean > 0, margin)

    return checks


def _codes_equal_pixels(measure: str) -> Checks:
    """Compare 128 bits of IMH-tSNE with the pixels, classified by the same kind of machine."""

    def checks(measured: Measured) -> Iterator[Check]:
        settings = (Setting("IMH-tSNE", 128), Setting(SCAN, 0))
        codes, pixels = (measured.values(measure, "mnist", setting) for setting in settings)
        difference = estimate_difference(codes, pixels)
        size = difference if difference.mean > 0 else subtract_from(0, difference)
        margin = subtract_from(SAME_RATE, size)
        rates = [sum(own.values()) / len(own) for own in (codes, pixels)]
        text = f"128 bits {rates[0]:.2f} %, pixels {rates[1]:.2f} % {format_interval(difference)}"
        yield Check(text, margin.mean >= 0, margin)

    return checks


def _itq_is_worse_for_short_codes(measured: Measured) -> Iterator[Check]:
    """Compare the lead of IMH-tSNE over ITQ at 16 bits with the one at 128."""
    short, long = (measured.find_lead("accuracy", "mnist", "IMH-tSNE", "ITQ", n) for n in (16, 128))
    leads = [float(np.mean(list(lead.values()))) for lead in (short, long)]
    text = f"IMH-tSNE leads by {leads[0]:.2f} % at 16 bits, by {leads[1]:.2f} % at 128"
    yield check_value(text, estimate_difference(short, long))


def _pixels_take_more_space(_: Measured) -> Iterator[Check]:
    ratio = 784 * 8 / (128 / 8)
    text = f"784 numbers of 8 bytes take {ratio:.0f} times the 16 bytes of a code"
    margin = ratio - 200
    yield Check(f"{text}; pixels of one byte, 49 times", margin > 0, Estimate(*[margin] * 3))


STATEMENTS: Group = {
    "fig-classify": [
        Statement("classify-high", 919, "Both IMH and AGH achieve high accuracies on this dataset",
                  f"IMH-tSNE, IMH-LE and AGH more than {HIGH_ACCURACY:g} % at every code length",
                  reaches(HIGH_ACCURACY, [*IMH, "AGH"], CODE_LENGTHS)),
        Statement("classify-imh-above-agh", 919,
                  "although IMH performs better with higher code lengths",
                  "IMH-tSNE and IMH-LE above AGH at 96 and 128 bits",
                  beats("accuracy", "mnist", IMH, ["AGH"], (96, 128))),
        Statement("classify-itq-best-other", 921,
                  "the best results of all other methods, obtained by ITQ",
                  "above STH, SH, PCAH, SpH and BRE at every code length",
                  beats("accuracy", "mnist", ["ITQ"],
                        [name for name in _WITHOUT_BASE_SET if name != "ITQ"])),
        Statement("classify-itq-below-imh", 922, "are consistently worse than those for IMH",
                  "ITQ below IMH-tSNE and IMH-LE at every code length",
                  beats("accuracy", "mnist", IMH, ["ITQ"])),
        Statement("classify-itq-short", 922, "especially for short code lengths",
                  "the lead of IMH-tSNE over ITQ is larger at 16 bits than at 128",
                  _itq_is_worse_for_short_codes),
        Statement("classify-94", 924,
                  "even with only 128-bit binary features IMH obtains a high 94.1%",
                  "IMH-tSNE at 128 bits at most 0.1 below",
                  is_near("accuracy", "mnist",
                          [(Setting("IMH-tSNE", 128), reported.CLASSIFICATION)], 0.1)),
        *(
            Statement(f"classify-pixels-{measure}", 925,
                      "the same classification rate of 94.1% is obtained by applying the linear "
                      f"SVM to the uncompressed 784D features ({machine})",
                      "128 bits of IMH-tSNE and the pixels, with the same kind of machine, differ "
                      f"by at most {SAME_RATE:g} %; how far each is from 94.1 is in the table",
                      _codes_equal_pixels(measure), sentence="classify-pixels")
            for measure, machine in _MACHINES
        ),
        Statement("classify-space", 925,
                  "which occupy several hundreds times as much space as the learned hash codes",
                  "features as numbers of 8 bytes", _pixels_take_more_space),
    ],
}  # fmt: skip
"""Statements by artifact."""
