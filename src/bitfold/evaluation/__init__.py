"""Fit, encode and measure: how good the codes of a hasher are, and how long they take.

:func:`evaluate` does all of it for one hasher and one data set. :func:`fit_and_encode` and
:func:`measure_codes` are its two halves, for callers that need the codes or have a fitted hasher.
:func:`search_exact`, :func:`measure_search` and :func:`judge` measure what a user sees first: the
hits that a search returns, next to those of the exact vectors.
"""

from bitfold.evaluation.choice import CodeOption, choose_code
from bitfold.evaluation.code_quality import CodeQuality, measure_codes
from bitfold.evaluation.code_search import (
    find_metric,
    make_baseline,
    measure_map,
    measure_search,
    search_index,
)
from bitfold.evaluation.exact_search import ExactResult, search_exact
from bitfold.evaluation.run import EncodedDataset, Evaluation, evaluate, fit_and_encode, warm_up
from bitfold.evaluation.top_quality import TopQuality, measure_chance, measure_hits
from bitfold.evaluation.verdict import References, Verdict, judge

__all__ = [
    "CodeOption",
    "CodeQuality",
    "EncodedDataset",
    "Evaluation",
    "ExactResult",
    "References",
    "TopQuality",
    "Verdict",
    "choose_code",
    "evaluate",
    "find_metric",
    "fit_and_encode",
    "judge",
    "make_baseline",
    "measure_chance",
    "measure_codes",
    "measure_hits",
    "measure_map",
    "measure_search",
    "search_exact",
    "search_index",
    "warm_up",
]
