"""The verdict follows the thresholds, and its sentence has the figures."""

from __future__ import annotations

import re

import pytest

from bitfold.evaluation import References, TopQuality, judge


def labeled(precision: float, recall: float = 0.3) -> TopQuality:
    return TopQuality(recall, recall, recall, precision, precision, precision)


def unlabeled(recall: float, rescored: float) -> TopQuality:
    return TopQuality(recall, rescored, rescored)


@pytest.mark.parametrize(
    ("own", "baseline", "grade", "parts"),
    [
        (labeled(0.47), labeled(0.40), "good", ["as relevant as", "0.47 against 0.48", "1/64"]),
        # 95 percent of the 0.38 above chance is 0.361.
        (labeled(0.462), labeled(0.9), "good", ["0.46 against 0.48"]),
        (labeled(0.459), labeled(0.46), "fair", ["less relevant", "more bits"]),
        (labeled(0.45, 0.95), labeled(0.46), "fair", ["rescore 100"]),
        (labeled(0.9), labeled(0.46), "good", ["more relevant than"]),
        (labeled(0.28), labeled(0.44), "poor", ["P@10 is 0.28", "ITQ.* has 0.44", "use ITQ"]),
        (unlabeled(0.93, 1.0), unlabeled(0.99, 1.0), "good", ["0.93 without rescoring"]),
        (unlabeled(0.56, 0.94), unlabeled(0.7, 1.0), "good", ["if you rescore", "0.94", "0.56"]),
        (unlabeled(0.04, 0.22), unlabeled(0.26, 0.6), "poor", ["recall@10 is 0.04", "0.26"]),
        (unlabeled(0.25, 0.61), unlabeled(0.22, 0.5), "fair", ["0.25", "0.61", "more bits"]),
        (unlabeled(0.05, 0.3), unlabeled(0.05, 0.3), "poor", ["0.30 with 100", "more bits"]),
    ],
)
def test_verdict(own: TopQuality, baseline: TopQuality, grade: str, parts: list[str]) -> None:
    is_labeled = own.precision_10 is not None
    exact = labeled(0.48, 1.0) if is_labeled else unlabeled(1.0, 1.0)
    chance = labeled(0.1, 0.0) if is_labeled else unlabeled(0.0, 0.0)
    verdict = judge(own, References(exact, chance, baseline, "ITQ"), compression=64)
    assert verdict.grade == grade
    assert verdict.text.lower().startswith(grade)
    assert verdict.text.endswith(".")
    for part in parts:
        assert re.search(part, verdict.text), verdict.text


def test_dual_hasher_is_advised_unless_it_made_the_codes() -> None:
    exact, chance = unlabeled(1.0, 1.0), unlabeled(0.0, 0.0)
    references = References(exact, chance, unlabeled(0.26, 0.6), "ITQ")
    for method, advice in (("IMH", "use ITQ, or try DualHasher."), ("DualHasher", "use ITQ.")):
        verdict = judge(unlabeled(0.04, 0.2), references, compression=64, method=method)
        assert verdict.text.endswith(advice)
