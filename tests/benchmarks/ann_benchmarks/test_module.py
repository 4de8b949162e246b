"""The plug-in, laid out and driven as ann-benchmarks does, on files of its format."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]

from bitfold import datasets, hashers, metrics

HERE = Path(__file__).parent
PLUGIN = HERE.parents[1] / "benchmarks" / "ann_benchmarks" / "bitfold"
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The plug-in, imported from within a tree like that of ann-benchmarks."""
    root = tmp_path_factory.mktemp("checkout")
    algorithms = root / "ann_benchmarks" / "algorithms"
    shutil.copytree(PLUGIN, algorithms / "bitfold")
    (algorithms / "base").mkdir()
    shutil.copy(HERE / "base_ann.py", algorithms / "base" / "module.py")
    sys.path.insert(0, str(root))
    yield importlib.import_module("ann_benchmarks.algorithms.bitfold.module")
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.split(".")[0] == "ann_benchmarks"]:
        del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "ann-benchmarks").mkdir(parents=True)
    return tmp_path / "data" / "ann-benchmarks"


def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PLUGIN / "config.yml").read_text(encoding="utf-8"))
    return loaded


def definitions() -> list[tuple[str, dict[str, Any]]]:
    return [(kind, one) for kind, by in config().items() for some in by.values() for one in some]


def combinations(listed: list[Any]) -> list[list[Any]]:
    """As ann-benchmarks reads arguments: the product of lists, a scalar being a list of one."""
    lists = [one if isinstance(one, list) else [one] for one in listed]
    return [list(chosen) for chosen in itertools.product(*lists)]


def arguments(definition: dict[str, Any], metric: str) -> list[list[Any]]:
    base = [metric if one == "@metric" else one for one in definition["base_args"]]
    groups = definition["run_groups"].values()
    return [[*base, *chosen] for group in groups for chosen in combinations(group["args"])]


def written(path: Path, distance: str, n: int = 3000, d: int = 32) -> None:
    """Write clustered vectors, or bits, with their true neighbors."""
    centers = RNG.standard_normal((40, d))
    base: Any
    queries: Any
    base, queries = (
        centers[RNG.integers(0, 40, m)] + 0.5 * RNG.standard_normal((m, d)) for m in (n, 20)
    )
    if distance == "hamming":
        base, queries = base > 0, queries > 0
    compared = [np.asarray(side, np.float64) for side in (base, queries)]
    if distance == "angular":
        base = base * RNG.uniform(0.1, 9, (n, 1))
        compared = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in compared]
    with h5py.File(path, "w") as file:
        file.attrs["distance"], file.attrs["type"] = distance, "dense"
        dtype = bool if distance == "hamming" else np.float32
        file["train"], file["test"] = base.astype(dtype), queries.astype(dtype)
        file["neighbors"] = metrics.closest_neighbors(*compared, k=10)


def raw(path: Path) -> tuple[Any, Any, Any]:
    """The arrays as the harness reads them: nothing scaled."""
    with h5py.File(path) as file:
        return file["train"][()], file["test"][()], file["neighbors"][()]


def test_every_definition_can_be_made(module: Any) -> None:
    assert definitions()
    for _, definition in definitions():
        assert definition["module"] == "ann_benchmarks.algorithms.bitfold"
        assert definition["docker_tag"] == "ann-benchmarks-bitfold"
        constructor = getattr(module, definition["constructor"])
        for metric in ("euclidean", "angular"):
            made = [constructor(*chosen) for chosen in arguments(definition, metric)]
            assert made
            names = [str(algorithm) for algorithm in made]
            assert len(set(names)) == len(made)
            assert all(algorithm.name == str(algorithm) for algorithm in made)


def test_every_method_is_a_hasher() -> None:
    (definition,) = config()["float"]["any"]
    methods = {chosen[1] for chosen in arguments(definition, "euclidean")}
    assert methods
    assert all(hasattr(hashers, method) for method in methods)


@pytest.mark.parametrize("distance", ["euclidean", "angular"])
@pytest.mark.parametrize(("method", "n_bits"), [("ITQ", 32), ("LSH", 128)])
def test_candidates_buy_recall(
    module: Any, folder: Path, distance: str, method: str, n_bits: int
) -> None:
    written(folder / "a.hdf5", distance)
    train, test, neighbors = raw(folder / "a.hdf5")
    before = train.copy(), test.copy()
    algorithm = module.Bitfold(distance, method, n_bits)
    algorithm.fit(train)
    recalls = []
    for candidates in (10, 200, 3000):
        algorithm.set_query_arguments(candidates)
        assert f"candidates={candidates}" in str(algorithm)
        one_by_one = np.array([algorithm.query(q, 10) for q in test])
        algorithm.batch_query(test, 10)
        assert np.array_equal(algorithm.get_batch_results(), one_by_one)
        recalls.append(float(np.mean(metrics.recall_at_k(one_by_one, neighbors, 10))))
    assert recalls == sorted(recalls)
    assert recalls[0] < 1
    assert recalls[2] == 1  # all are looked at
    assert algorithm.get_memory_usage() > 0
    assert np.array_equal(train, before[0])
    assert np.array_equal(test, before[1])
    algorithm.done()
    # bitfold's own reader gives the same neighbors to the same vectors.
    data = datasets.ann_benchmarks("a")
    assert data.neighbors is not None
    assert np.array_equal(data.neighbors, neighbors)


def test_bits_are_searched_exactly(module: Any, folder: Path) -> None:
    written(folder / "b.hdf5", "hamming", d=64)
    train, test, neighbors = raw(folder / "b.hdf5")
    algorithm = module.BitfoldHamming()
    algorithm.fit(train)
    algorithm.batch_query(test, 10)
    found = np.asarray(algorithm.get_batch_results())
    assert np.array_equal(found, [algorithm.query(q, 10) for q in test])
    far = (train[found] != test[:, None]).sum(axis=2)
    assert np.array_equal(far, (train[neighbors] != test[:, None]).sum(axis=2))


def test_another_metric_is_refused(module: Any) -> None:
    with pytest.raises(ValueError, match=r"must be euclidean or angular, got jaccard\."):
        module.Bitfold("jaccard", "ITQ", 32)
