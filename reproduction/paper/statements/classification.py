"""Statements about classification on the codes: Fig. 12."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.checks import (
    Check,
    Measured,
    Setting,
    beats,
    check_value,
    format_range,
    is_near,
)
from reproduction.paper.intervals import Estimate, estimate_difference
from reproduction.paper.statement import Group, Statement
from reproduction.paper.statements.comparisons import IMH, list_all_but

HIGH_ACCURACY = 90.0
"""Accuracy at 128 bits that counts as high."""

_WITHOUT_BASE_SET = list_all_but("AGH", *IMH)


def _accuracies_are_high(measured: Measured) -> Iterator[Check]:
    for name in (*IMH, "AGH"):
        mean = measured.mean("accuracy", "mnist", Setting(name, 128))
        margin = Estimate(*(value - HIGH_ACCURACY for value in mean))
        text = f"128 bits: {name} {mean.mean:.2f} % {format_range(mean)}"
        yield Check(text, margin.mean > 0, margin)


def _itq_is_worse_for_short_codes(measured: Measured) -> Iterator[Check]:
    """Compare the lead of IMH-tSNE over ITQ at 16 bits with the one at 128."""
    short, long = (measured.find_lead("accuracy", "mnist", "IMH-tSNE", "ITQ", n) for n in (16, 128))
    leads = [float(np.mean(list(lead.values()))) for lead in (short, long)]
    text = f"IMH-tSNE leads by {leads[0]:.2f} % at 16 bits, by {leads[1]:.2f} % at 128"
    yield check_value(text, estimate_difference(short, long))


def _pixels_take_more_space(_: Measured) -> Iterator[Check]:
    ratio = 784 * 8 / (128 / 8)
    text = f"784 numbers of 8 bytes take {ratio:.0f} times the 16 bytes of a code"
    yield Check(f"{text}; pixels of one byte, 49 times", ratio > 200, Estimate(ratio - 200, 1, 1))


STATEMENTS: Group = {
    "fig-classify": [
        Statement("classify-high", 919, "Both IMH and AGH achieve high accuracies on this dataset",
                  f"more than {HIGH_ACCURACY:g} % at 128 bits", _accuracies_are_high),
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
        Statement("classify-pixels", 925,
                  "the same classification rate of 94.1% is obtained by applying the linear SVM to "
                  "the uncompressed 784D features",
                  "one-versus-one, as in LIBSVM, within 1 %",
                  is_near("accuracy_ovo", "mnist", [(Setting(SCAN, 0), reported.CLASSIFICATION)],
                          1.0, 1.0)),
        Statement("classify-space", 925,
                  "which occupy several hundreds times as much space as the learned hash codes",
                  "features as numbers of 8 bytes", _pixels_take_more_space),
    ],
}  # fmt: skip
"""Statements by artifact."""
