"""``bitfold evaluate``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import LABELS, Run, X, assert_fails, parse_json

import bitfold as bf
from bitfold.hashers import LSH
from bitfold.io import scale_to_unit_length
from bitfold.metrics import Relevance, closest_neighbors, mean_average_precision


def test_labels(warm: Run, files: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.parquet")]
    labels = ["--labels", str(files / "labels.npy"), "--seed", "5", "--hold-out", "300"]
    summary = parse_json(warm(*evaluate, *labels, "--json"))
    codes = bf.load(files / "m.bitfold").encode(X)
    order = np.random.default_rng(5).permutation(len(X))
    queries, rows = order[:300], order[300:]
    expected = mean_average_precision(codes[queries], codes[rows], LABELS[queries], LABELS[rows])
    assert summary["map"] == pytest.approx(expected)
    assert (summary["database"], summary["queries"]) == (len(rows), 300)
    assert 0 < summary["recall"] < summary["precision"] < 1
    shown = warm(*evaluate, *labels).stdout
    assert re.search(rf"MAP\s+│\s+{100 * expected:.1f}", shown)
    assert "precision, radius 2" in shown
    assert "F1, radius 2" in shown


def test_separate_queries_with_labels(warm: Run, files: Path, tmp_path: Path) -> None:
    for name, rows in (("q", slice(0, 300)), ("x", slice(300, None))):
        np.save(tmp_path / f"{name}.npy", X[rows])
        np.save(tmp_path / f"{name}_labels.npy", LABELS[rows])
    paths = {path.stem: str(path) for path in tmp_path.iterdir()}
    summary = parse_json(
        warm(
            "evaluate", str(files / "m.bitfold"), paths["x"], "--labels", paths["x_labels"],
            "--queries", paths["q"], "--query-labels", paths["q_labels"], "--json",
        )
    )  # fmt: skip
    codes = bf.load(files / "m.bitfold").encode(X)
    expected = mean_average_precision(codes[:300], codes[300:], LABELS[:300], LABELS[300:])
    assert summary["map"] == pytest.approx(expected)


def test_unlabeled_rows_are_searched_but_not_queries(
    warm: Run, files: Path, tmp_path: Path
) -> None:
    is_known = np.random.default_rng(1).random(len(X)) < 0.5
    y = np.where(is_known, LABELS, -1)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "none.txt").write_text("-1\n" * len(X))
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.parquet"), "--labels"]
    summary = parse_json(warm(*evaluate, str(tmp_path / "y.npy"), "--hold-out", "300", "--json"))
    order = np.random.default_rng(0).permutation(len(X))
    queries, rows = order[:300][is_known[order[:300]]], order[300:]
    codes = bf.load(files / "m.bitfold").encode(X)
    expected = mean_average_precision(codes[queries], codes[rows], y[queries], y[rows])
    assert summary["map"] == pytest.approx(expected)
    assert (summary["database"], summary["queries"]) == (len(rows), len(queries))
    assert_fails(warm(*evaluate, str(tmp_path / "none.txt")), "label", 3)


def test_closest_rows(warm: Run, files: Path, tmp_path: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold")]
    summary = parse_json(warm(*evaluate, str(files / "x.zarr"), "--hold-out", "300", "--json"))
    codes = bf.load(files / "m.bitfold").encode(X)
    order = np.random.default_rng(0).permutation(len(X))
    queries, rows = np.sort(order[:300]), np.sort(order[300:])
    relevance = Relevance.from_neighbors(closest_neighbors(X[rows], X[queries]))
    expected = mean_average_precision(codes[queries], codes[rows], relevance)
    assert summary["map"] == pytest.approx(expected)
    assert summary["relevant"] == "the 30 closest items"
    np.save(tmp_path / "q.npy", X[queries])
    np.save(tmp_path / "x.npy", X[rows])
    separate = parse_json(
        warm(*evaluate, str(tmp_path / "x.npy"), "--queries", str(tmp_path / "q.npy"), "--json")
    )
    assert separate["map"] == pytest.approx(summary["map"])


def test_wrong_arguments(warm: Run, files: Path, tmp_path: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.npy")]
    (tmp_path / "few.txt").write_text("1\n2\n")
    assert_fails(warm(*evaluate, "--labels", str(tmp_path / "few.txt")), "2 labels.*1797 rows", 3)
    assert_fails(warm(*evaluate, "--hold-out", "1797"), "1796.*got 1797", 2)
    assert_fails(warm(*evaluate, "--query-labels", evaluate[2]), "--labels", 2)
    assert_fails(warm(*evaluate, "--queries", evaluate[2], "--hold-out", "9"), "--hold-out", 2)
    labels = ["--labels", str(files / "labels.npy"), "--queries", evaluate[2]]
    assert_fails(warm(*evaluate, *labels), "--query-labels", 2)


def test_closest_rows_of_a_cosine_model(warm: Run, tmp_path: Path) -> None:
    lengths = np.exp2(np.arange(len(X)) % 7)[:, None]
    np.save(tmp_path / "x.npy", X * lengths)
    np.save(tmp_path / "unit.npy", scale_to_unit_length(X, "X"))
    hasher = LSH(32, normalize=True, random_state=0).fit(X)
    hasher.save(tmp_path / "m.bitfold")
    evaluate = ["evaluate", str(tmp_path / "m.bitfold")]
    summary = parse_json(warm(*evaluate, str(tmp_path / "x.npy"), "--json"))
    unit = parse_json(warm(*evaluate, str(tmp_path / "unit.npy"), "--json"))
    assert summary["relevant"] == "the 32 closest items by cosine"
    assert summary["map"] == pytest.approx(unit["map"], rel=1e-3)
    assert summary["map"] > 0.3
