"""Statements about learned rotations: Fig. 13."""

from __future__ import annotations

from reproduction.paper import reported
from reproduction.paper.checks import all_of, beats
from reproduction.paper.degrees import MUCH, SIGNIFICANTLY
from reproduction.paper.statement import Group, Statement


def _list_statements(data: str) -> list[Statement]:
    name = reported.DATA_NAMES[data]
    improvements = [
        Statement(f"rotation-{measure}-{data}", 942,
                  "the orthogonal rotations achieve significantly performance improvements (in "
                  f"terms of both F1 and recall) for IMH-LE and IMH-tSNE ({title}, {name})",
                  f"{title} with ITQ above that without, both methods, at every code length: "
                  f"{SIGNIFICANTLY.criterion}",
                  all_of(*(beats(measure, data, [f"{method}-ITQ"], [method],
                                 degree=SIGNIFICANTLY)
                           for method in ("IMH-tSNE", "IMH-LE"))),
                  sentence="rotation-improves")
        for measure, title in (("f1", "F1"), ("recall", "recall"))
    ]  # fmt: skip
    above = Statement(f"rotation-above-pca-itq-{data}", 943,
                      "In conjunctions with the rotations, the proposed IMH-LE and IMH-tSNE "
                      f"methods perform much better than the PCA based PCA-ITQ ({name})",
                      f"F1 and recall of both above ITQ {MUCH.criterion} at every code length",
                      all_of(*(beats(measure, data, ["IMH-tSNE-ITQ", "IMH-LE-ITQ"], ["ITQ"],
                                     degree=MUCH)
                               for measure in ("f1", "recall"))),
                      sentence="rotation-above-pca-itq")  # fmt: skip
    return [*improvements, above]


STATEMENTS: Group = {"fig-itq": [*_list_statements("mnist"), *_list_statements("cifar10")]}
"""Statements by artifact."""
