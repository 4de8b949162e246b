"""The order of the runs."""

from __future__ import annotations

from itertools import pairwise

from reproduction.artifacts import ARTIFACTS
from reproduction.columns import BITFOLD, PUBLISHED, find_column
from reproduction.protocol import MILLION_ROWS, Protocol
from reproduction.runner import LARGE_BASE_SET, is_target, plan_runs

PLAN = plan_runs(ARTIFACTS.values(), Protocol())


def test_every_case_runs_once() -> None:
    assert len(PLAN) == len(set(PLAN))
    needed = {case for a in ARTIFACTS.values() for case in a.cases(Protocol())}
    assert {case for case in needed if case.data in ("mnist", "cifar10")} <= set(PLAN) <= needed


def test_one_seed_of_everything_as_published_comes_first() -> None:
    small = [case for case in PLAN if case.data not in MILLION_ROWS]
    n_first = next(i for i, case in enumerate(small) if case.seed)
    assert all(find_column(case.method) in (PUBLISHED, None) for case in small[:n_first])
    first = {case.setting for case in small[:n_first]}
    published = [case for case in small if find_column(case.method) == PUBLISHED]
    late = {case for case in published if case.setting not in first}
    assert all(dict(case.options)["n_base_points"] > LARGE_BASE_SET for case in late)


def test_all_seeds_of_the_targets_come_before_bitfold() -> None:
    first_bitfold = next(i for i, case in enumerate(PLAN) if find_column(case.method) == BITFOLD)
    targets = [c for c in PLAN if is_target(c) and find_column(c.method) == PUBLISHED]
    assert targets
    assert set(targets) <= set(PLAN[:first_bitfold])


def test_million_rows_come_last() -> None:
    is_million = [case.data in MILLION_ROWS for case in PLAN]
    assert is_million == sorted(is_million)


def test_a_data_set_is_loaded_once_per_round() -> None:
    keys = [(case.data, case.n_queries) for case in PLAN]
    n_loads = 1 + sum(a != b for a, b in pairwise(keys))
    assert n_loads < 60
