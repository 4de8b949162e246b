"""The plug-in for ann-benchmarks, installed and called in the same way."""

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
PLUGIN = HERE.parents[2] / "benchmarks" / "ann_benchmarks" / "bitfold"
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the plug-in, imported from a tree like that of ann-benchmarks."""
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


def read_config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PLUGIN / "config.yml").read_text(encoding="utf-8"))
    return loaded


def list_definitions() -> list[tuple[str, dict[str, Any]]]:
    return [
        (kind, one) for kind, by in read_config().items() for some in by.values() for one in some
    ]


def combine(arguments: list[Any]) -> list[list[Any]]:
    """Return the product of lists, as ann-benchmarks reads arguments."""
    lists = [one if isinstance(one, list) else [one] for one in arguments]
    return [list(chosen) for chosen in itertools.product(*lists)]


def list_arguments(definition: dict[str, Any], metric: str) -> list[list[Any]]:
    base = [metric if one == "@metric" else one for one in definition["base_args"]]
    groups = definition["run_groups"].values()
    return [[*base, *chosen] for group in groups for chosen in combine(group["args"])]


def write_dataset(path: Path, distance: str, n: int = 3000, d: int = 32) -> None:
    """Write clustered vectors, or bits, and their true neighbors."""
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


def read_dataset(path: Path) -> tuple[Any, Any, Any]:
    """Return the arrays as ann-benchmarks reads them."""
    with h5py.File(path) as file:
        return file["train"][()], file["test"][()], file["neighbors"][()]


def test_every_algorithm_can_be_created(module: Any) -> None:
    assert list_definitions()
    for _, definition in list_definitions():
        assert definition["module"] == "ann_benchmarks.algorithms.bitfold"
        assert definition["docker_tag"] == "ann-benchmarks-bitfold"
        constructor = getattr(module, definition["constructor"])
        for metric in ("euclidean", "angular"):
            made = [constructor(*chosen) for chosen in list_arguments(definition, metric)]
            assert made
            names = [str(algorithm) for algorithm in made]
            assert len(set(names)) == len(made)
            assert all(algorithm.name == str(algorithm) for algorithm in made)


def test_methods_are_hashers() -> None:
    (definition,) = read_config()["float"]["any"]
    methods = {chosen[1] for chosen in list_arguments(definition, "euclidean")}
    assert methods
    assert all(hasattr(hashers, method) for method in methods)


@pytest.mark.parametrize("distance", ["euclidean", "angular"])
@pytest.mark.parametrize(
    "arguments", [("ITQ", 32), ("LSH", 128), ("ITQ", 32, True), ("DualHasher", 32, True)]
)
def test_more_candidates_give_more_recall(
    module: Any, folder: Path, distance: str, arguments: tuple[Any, ...]
) -> None:
    write_dataset(folder / "a.hdf5", distance)
    train, test, neighbors = read_dataset(folder / "a.hdf5")
    before = train.copy(), test.copy()
    algorithm = module.Bitfold(distance, *arguments)
    algorithm.fit(train)
    recalls = []
    for candidates in (10, 200, 3000):
        algorithm.set_query_arguments(candidates)
        assert f"n_candidates={candidates}" in str(algorithm)
        one_by_one = np.array([algorithm.query(q, 10) for q in test])
        algorithm.batch_query(test, 10)
        assert np.array_equal(algorithm.get_batch_results(), one_by_one)
        recalls.append(float(np.mean(metrics.recall_at_k(one_by_one, neighbors, 10))))
    assert recalls == sorted(recalls)
    assert recalls[0] < 1
    assert recalls[2] == 1  # all rows are candidates
    assert algorithm.get_memory_usage() > 0
    assert np.array_equal(train, before[0])
    assert np.array_equal(test, before[1])
    algorithm.done()
    # The reader of bitfold returns the same neighbors.
    data = datasets.ann_benchmarks("a")
    assert data.neighbors is not None
    assert np.array_equal(data.neighbors, neighbors)


def test_reals_of_the_query_find_better_candidates(module: Any, folder: Path) -> None:
    write_dataset(folder / "c.hdf5", "euclidean")
    train, test, neighbors = read_dataset(folder / "c.hdf5")
    recalls = []
    for asymmetric in (False, True):
        algorithm = module.Bitfold("euclidean", "DualHasher", 32, asymmetric)
        algorithm.fit(train)
        algorithm.set_query_arguments(20)
        algorithm.batch_query(test, 10)
        found = algorithm.get_batch_results()
        recalls.append(float(np.mean(metrics.recall_at_k(found, neighbors, 10))))
    assert recalls[0] < recalls[1]


def test_bits_are_searched_exactly(module: Any, folder: Path) -> None:
    write_dataset(folder / "b.hdf5", "hamming", d=64)
    train, test, neighbors = read_dataset(folder / "b.hdf5")
    algorithm = module.BitfoldHamming()
    algorithm.fit(train)
    algorithm.batch_query(test, 10)
    found = np.asarray(algorithm.get_batch_results())
    assert np.array_equal(found, [algorithm.query(q, 10) for q in test])
    distances = (train[found] != test[:, None]).sum(axis=2)
    assert np.array_equal(distances, (train[neighbors] != test[:, None]).sum(axis=2))


def test_unknown_metric_is_rejected(module: Any) -> None:
    with pytest.raises(ValueError, match="jaccard"):
        module.Bitfold("jaccard", "ITQ", 32)
