"""The fits of the page."""

from __future__ import annotations

import numpy as np
from reproduction.labels.cases import (
    ALL,
    CONTENDERS,
    FEW,
    SEVEN,
    UNSUPERVISED,
    find_labels,
    list_cases,
    list_left_out,
    make_case,
)

from bitfold import hashers


def test_names_are_the_expressions_that_make_the_methods() -> None:
    names = {name: getattr(hashers, name) for name in hashers.__all__}
    for name, contender in CONTENDERS.items():
        assert repr(eval(name, names)) == repr(contender.make())


def test_every_method_has_64_bits() -> None:
    assert all(contender.make().get_params()["n_bits"] == 64 for contender in CONTENDERS.values())


def test_cases_of_a_data_set() -> None:
    cases = list_cases(("mnist",), 2)
    assert len(set(cases)) == len(cases)
    assert {case.seed for case in cases} == {0, 1}
    plain = [find_labels(case) for case in cases if case.method == UNSUPERVISED]
    assert plain == [ALL, ALL, SEVEN, SEVEN]  # the number of labels makes no difference
    assert find_labels(make_case("mnist", "SDH(64)", FEW)) == FEW


def test_every_class_is_left_out_with_some_seed() -> None:
    left_out = [list_left_out(seed) for seed in range(4)]
    assert left_out[:2] == [[0, 1, 2], [3, 4, 5]]
    assert set(np.concatenate(left_out)) == set(range(10))
    assert all(len(set(classes)) == 3 for classes in left_out)
