"""``bitfold evaluate``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import LABELS, Run, X, assert_fails, parse_json

import bitfold as bf
from bitfold.hashers import ITQ, LSH
from bitfold.io import scale_to_unit_length
from bitfold.metrics import closest_neighbors, mean_average_precision, recall_at_k


def search(
    model: Path, rows: np.ndarray, queries: np.ndarray, k: int = 10, *, symmetric: bool = False
) -> np.ndarray:
    """Return the rows that a search with a model finds."""
    hasher = bf.load(model)
    embedding = None if symmetric else hasher.embed(X[queries])
    with bf.HammingIndex(hasher.n_bits_) as index:
        index.add(hasher.encode(X[rows]))
        return rows[index.search(hasher.encode(X[queries]), k, query_embedding=embedding).ids]


def split(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the database and of the queries, as the command draws them."""
    order = np.random.default_rng(seed).permutation(len(X))
    return np.sort(order[300:]), np.sort(order[:300])


def test_labels(warm: Run, files: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.parquet")]
    labels = ["--labels", str(files / "labels.npy"), "--seed", "5", "--hold-out", "300"]
    summary = parse_json(warm(*evaluate, *labels, "--json"))
    results = summary["results"]
    rows, queries = split(5)
    codes = bf.load(files / "m.bitfold").encode(X)
    expected = mean_average_precision(codes[queries], codes[rows], LABELS[queries], LABELS[rows])
    assert results["model_hamming"]["map"] == pytest.approx(expected)
    assert results["model"]["map"] != pytest.approx(expected)
    for name, symmetric in (("model", False), ("model_hamming", True)):
        found = search(files / "m.bitfold", rows, queries, symmetric=symmetric)
        precision = (LABELS[found] == LABELS[queries][:, None]).mean()
        assert results[name]["precision_10"] == pytest.approx(precision)
    assert (summary["database"], summary["queries"]) == (len(rows), 300)
    assert (summary["bytes_per_code"], summary["bytes_per_vector"]) == (8, 256)
    assert 0 < summary["lookup"]["recall"] < summary["lookup"]["precision"] < 1
    assert results["exact"]["recall_10"] == 1
    for measure in ("precision_10", "precision_100", "map", "recall_10"):
        assert results["chance"][measure] < results["model_hamming"][measure], measure
        assert results["model"][measure] < results["exact"][measure], measure
    shown = warm(*evaluate, *labels).stdout
    assert re.search(rf"this model, Hamming +{precision:.3f} .* {expected:.3f} ", shown)
    own = results["model"]["precision_10"]
    assert re.search(rf"this model, asymmetric +{own:.3f} ", shown)
    assert f"P@10 {own:.2f} against" in shown or f"P@10 is {own:.2f}" in shown
    assert max(map(len, shown.splitlines()[1:8])) <= 80
    for row in ("ITQ, 60 bits", "exact vectors", "chance", "by Euclidean distance"):
        assert row in shown
    assert "Within radius 2: precision" in shown
    assert shown.splitlines()[-1] == summary["verdict"]["text"]
    assert "P@10" in summary["verdict"]["text"]


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
    assert summary["results"]["model_hamming"]["map"] == pytest.approx(expected)


def test_unlabeled_rows_are_searched_but_not_queries(
    warm: Run, files: Path, tmp_path: Path
) -> None:
    is_known = np.random.default_rng(1).random(len(X)) < 0.5
    y = np.where(is_known, LABELS, -1)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "none.txt").write_text("-1\n" * len(X))
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.parquet"), "--labels"]
    summary = parse_json(warm(*evaluate, str(tmp_path / "y.npy"), "--hold-out", "300", "--json"))
    rows, held_out = split()
    queries = held_out[is_known[held_out]]
    codes = bf.load(files / "m.bitfold").encode(X)
    expected = mean_average_precision(codes[queries], codes[rows], y[queries], y[rows])
    assert summary["results"]["model_hamming"]["map"] == pytest.approx(expected)
    assert (summary["database"], summary["queries"]) == (len(rows), len(queries))
    assert_fails(warm(*evaluate, str(tmp_path / "none.txt")), "label", 3)


def test_without_labels_recall_is_measured(warm: Run, files: Path, tmp_path: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold")]
    done = warm(*evaluate, str(files / "x.zarr"), "--hold-out", "300", "--json")
    summary = parse_json(done)
    model = summary["results"]["model"]
    rows, queries = split()
    truth = rows[closest_neighbors(X[rows], X[queries], k=10)]
    for name, n in (("recall_10", 10), ("recall_10_from_40", 40), ("recall_10_from_100", 100)):
        found = search(files / "m.bitfold", rows, queries, n)
        expected = recall_at_k(found, truth, 10, n_candidates=n).mean()
        assert model[name] == pytest.approx(expected)
    assert (model["precision_10"], model["map"], summary["lookup"]) == (None, None, None)
    assert "recall@10" in summary["verdict"]["text"]
    np.save(tmp_path / "q.npy", X[queries])
    np.save(tmp_path / "x.npy", X[rows])
    separate = parse_json(
        warm(*evaluate, str(tmp_path / "x.npy"), "--queries", str(tmp_path / "q.npy"), "--json")
    )
    assert separate["results"]["model"] == pytest.approx(model)
    assert "MAP" not in warm(*evaluate, str(files / "x.npy")).stdout


def test_baseline_of_itq_is_lsh(warm: Run, files: Path, tmp_path: Path) -> None:
    ITQ(16, random_state=0).fit(X).save(tmp_path / "itq.bitfold")
    done = warm("evaluate", str(tmp_path / "itq.bitfold"), str(files / "x.npy"), "--json")
    assert parse_json(done)["baseline"] == "LSH"


def test_neighbors_of_a_cosine_model_are_those_by_cosine(warm: Run, tmp_path: Path) -> None:
    lengths = np.exp2(np.arange(len(X)) % 7)[:, None]
    np.save(tmp_path / "x.npy", X * lengths)
    np.save(tmp_path / "unit.npy", scale_to_unit_length(X, "X"))
    LSH(32, normalize=True, random_state=0).fit(X).save(tmp_path / "m.bitfold")
    evaluate = ["evaluate", str(tmp_path / "m.bitfold")]
    summary = parse_json(warm(*evaluate, str(tmp_path / "x.npy"), "--json"))
    unit = parse_json(warm(*evaluate, str(tmp_path / "unit.npy"), "--json"))
    assert summary["metric"] == "cosine"
    for search_name in ("model", "baseline"):
        recall = summary["results"][search_name]["recall_10"]
        assert recall == pytest.approx(unit["results"][search_name]["recall_10"], abs=0.01)
        assert recall > 0.2
    assert "exact neighbors by cosine" in warm(*evaluate, str(tmp_path / "x.npy")).stdout


def test_wrong_arguments(warm: Run, files: Path, tmp_path: Path) -> None:
    evaluate = ["evaluate", str(files / "m.bitfold"), str(files / "x.npy")]
    (tmp_path / "few.txt").write_text("1\n2\n")
    assert_fails(warm(*evaluate, "--labels", str(tmp_path / "few.txt")), "2 labels.*1797 rows", 3)
    assert_fails(warm(*evaluate, "--hold-out", "1797"), "1796.*got 1797", 2)
    assert_fails(warm(*evaluate, "--query-labels", evaluate[2]), "--labels", 2)
    assert_fails(warm(*evaluate, "--queries", evaluate[2], "--hold-out", "9"), "--hold-out", 2)
    labels = ["--labels", str(files / "labels.npy"), "--queries", evaluate[2]]
    assert_fails(warm(*evaluate, *labels), "--query-labels", 2)


def test_collection_that_keeps_vectors_is_measured_as_it_searches(
    warm: Run, tmp_path: Path
) -> None:
    hasher = bf.DualHasher(64, random_state=0)
    collection = bf.Collection.create(tmp_path / "c", X, hasher=hasher, keep_vectors="float32")
    dual = collection.query_hasher
    collection.close()
    assert isinstance(dual, bf.DualHasher)
    assert dual.coarse_weight < hasher.coarse_weight
    summary = parse_json(warm("evaluate", str(tmp_path / "c"), "--hold-out", "300", "--json"))
    dual.save(tmp_path / "m")
    rows, queries = split()
    found = search(tmp_path / "m", rows, queries)
    truth = rows[closest_neighbors(X[rows], X[queries], k=10)]
    expected = recall_at_k(found, truth, 10).mean()
    assert summary["results"]["model"]["recall_10"] == pytest.approx(expected)
