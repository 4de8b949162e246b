"""The demo's comparison of methods."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.demo.comparison import (
    MethodResult,
    format_row,
    hamming_distances,
    load_digits,
    make_methods,
    rank_items,
    run_method,
)
from tests.reproduction.demo.conftest import DemoRun

from bitfold.codes import Codes


def get_maps(results: list[MethodResult]) -> list[float]:
    return [result.score.map for result in results]


def test_methods_and_their_sizes(demo_run: DemoRun) -> None:
    scores = [result.score for result in demo_run.results]
    assert [score.n_bits for score in scores] == [64, 64, 64, 9, None]
    assert [score.n_base_points for score in scores] == [400, 400, 400, 1000, None]
    assert [score.bytes_per_item for score in scores] == [8, 8, 8, 2, 64]
    assert scores[-1].fit_seconds is None
    assert all(score.fit_seconds and score.fit_seconds > 0 for score in scores[:-1])


def test_codes_beat_the_scan_and_the_rotation_helps(demo_run: DemoRun) -> None:
    """Only comparisons that were clear for a dozen seeds."""
    sign, itq, le, supervised, scan = get_maps(demo_run.results)
    assert supervised > itq
    assert min(sign, itq) > scan + 0.1
    assert min(sign, itq) > le + 0.08
    recalls = [result.score.recall or 0 for result in demo_run.results]
    assert recalls[1] > 1.5 * recalls[0]


def test_same_seed_gives_the_same_codes(demo_run: DemoRun) -> None:
    method = make_methods(64, 0)[2]
    again = run_method(method, load_digits(0), lambda *_: None)
    assert again.codes == demo_run.results[2].codes


def test_queries_are_not_in_the_database() -> None:
    data = load_digits(seed=1)
    assert len(data.queries) + len(data.database) == 1797
    both = np.concatenate([data.queries, data.database])
    assert len(np.unique(both, axis=0)) == 1797
    assert not np.array_equal(data.queries, load_digits(seed=2).queries)


def test_ranking_breaks_ties_in_database_order() -> None:
    bits = np.random.default_rng(0).integers(0, 2, (60, 5))
    queries, database = bits[:8], bits[8:]
    distances = hamming_distances(Codes.from_bits(queries), Codes.from_bits(database))
    for query, ranking in zip(queries, rank_items(distances), strict=True):
        pairs = [(int((query != code).sum()), item) for item, code in enumerate(database)]
        assert ranking.tolist() == [item for _, item in sorted(pairs)]


def test_rows_are_formatted(demo_run: DemoRun) -> None:
    score = demo_run.results[0].score._replace(map=0.8912, precision=0.5, recall=0.25)
    name, n_bits, *values = format_row(score._replace(fit_seconds=1.234))
    assert (name, n_bits) == ("IMH-tSNE", "64")
    assert values == ["89.1", "50.0", "25.0", "1.23", "8"]
    assert format_row(demo_run.results[-1].score)[3:6] == ["\N{EN DASH}"] * 3


@pytest.mark.parametrize("n_bits", [1, 64])
def test_supervised_codes_are_shorter_than_the_classes(n_bits: int) -> None:
    lengths = [method.hasher.get_params()["n_bits"] for method in make_methods(n_bits, 0)]
    assert lengths == [n_bits] * 3 + [min(n_bits, 9)]
