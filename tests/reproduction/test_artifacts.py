"""The artifacts of the paper as data: the cases they need."""

from __future__ import annotations

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.columns import BITFOLD, PUBLISHED, find_column
from reproduction.data.loader import LOADERS
from reproduction.experiments.methods import METHODS, PAPER_METHODS, SCAN, make_hasher
from reproduction.experiments.run import MEASURES
from reproduction.paper.checks import CODE_LENGTHS
from reproduction.protocol import MILLION_ROWS, Protocol

from bitfold.hashers import Hasher

NUMBERS = {
    "fig-query-digits": "Fig. 2", "fig-embeddings": "Fig. 3", "fig-base-size": "Fig. 4",
    "table-base-method": "Table I", "table-base-size": "Table II", "fig-2d": "Fig. 5",
    "fig-cifar": "Fig. 6", "fig-cifar-pr": "Fig. 7", "fig-retrieved": "Fig. 8",
    "fig-mnist": "Fig. 9", "table-time": "Table III", "fig-sift": "Fig. 10", "fig-gist": "Fig. 11",
    "fig-classify": "Fig. 12", "fig-itq": "Fig. 13", "fig-supervised": "Fig. 14",
    "supplement": "Supplement", "other-queries": "Check", "unit-rows": "Check",
}  # fmt: skip
"""Numbers that LaTeX gives them: the source begins with Fig. 2."""


def list_queries(name: str, protocol: Protocol) -> dict[str, set[int]]:
    cases = ARTIFACTS[name].cases(protocol)
    return {c.data: {d.n_queries for d in cases if d.data == c.data} for c in cases}


def test_all_artifacts_are_defined() -> None:
    assert {a.name: a.number for a in ARTIFACTS.values()} == NUMBERS
    assert set(PAPER_METHODS) <= METHODS.keys()


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_cases_can_be_run(name: str, quick: bool) -> None:
    cases = ARTIFACTS[name].cases(Protocol(n_repeats=2, quick=quick))
    assert len(cases) == len(set(cases))
    for case in cases:
        assert case.data in LOADERS
        assert case.measure in MEASURES
        if case.method != SCAN:
            hasher = make_hasher(case.method, case.n_bits, 0, dict(case.options))
            assert isinstance(hasher, Hasher)
    if quick:
        assert all(case.n_rows and case.seed == 0 for case in cases)
    else:
        assert not any(case.n_rows for case in cases)


def test_protocol_of_the_report_is_the_default() -> None:
    cases = [case for a in ARTIFACTS.values() for case in a.cases(Protocol())]
    for is_million, n_seeds in ((False, 5), (True, 3)):
        own = [case for case in cases if (case.data in MILLION_ROWS) == is_million]
        assert {case.seed for case in own} == set(range(n_seeds))
    assert {case.n_bits for case in cases if case.data in MILLION_ROWS} == set(CODE_LENGTHS)
    assert list_queries("fig-embeddings", Protocol()) == {"cifar10": {1000}}
    assert list_queries("fig-sift", Protocol()) == {"sift_photos": {10_000}, "sift1m": {10_000}}
    # GIST1M has only a thousand.
    assert list_queries("fig-gist", Protocol()) == {"gist_cifar": {10_000}, "gist1m": {1000}}
    assert list_queries("fig-classify", Protocol()) == {"mnist": {10_000}}


def test_repeats_and_queries_can_be_chosen() -> None:
    protocol = Protocol(n_repeats=3, n_queries=700)
    assert {case.seed for case in ARTIFACTS["fig-mnist"].cases(protocol)} == {0, 1, 2}
    # The exact scan has the same queries as the methods next to it.
    assert list_queries("fig-embeddings", protocol) == {"cifar10": {700}}
    assert list_queries("fig-sift", protocol)["sift_photos"] == {700}
    assert list_queries("fig-gist", Protocol(n_queries=5000))["gist1m"] == {1000}


@pytest.mark.parametrize(
    ("name", "expected"), [("fig-sift", (1000, 2)), ("fig-classify", (1000, 5))]
)
def test_base_sets_of_the_paper(name: str, expected: tuple[int, int]) -> None:
    cases = ARTIFACTS[name].cases(Protocol(1))
    options = [dict(case.options) for case in cases if case.method.startswith(("IMH", "AGH"))]
    assert {(o["n_base_points"], o["n_neighbors"]) for o in options} == {expected}


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "unit-rows"])
def test_every_artifact_with_base_sets_has_both_columns(name: str) -> None:
    columns = {find_column(case.method) for case in ARTIFACTS[name].cases(Protocol(1))}
    assert columns >= {PUBLISHED, BITFOLD}
    # Nothing is chosen by data set: the settings are those of the paper's text.
    for case in ARTIFACTS[name].cases(Protocol(1)):
        assert dict(case.options).keys() <= {"base", "n_base_points", "n_neighbors", "rotation"}
