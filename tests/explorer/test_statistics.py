"""Statistics: no positive verdict without evidence, or for codes that lose the neighbors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.explorer.conftest import index_bits, items_of

from bitfold.explorer.opening import ItemSources, OpenedModel
from bitfold.explorer.statistics import compute_statistics
from bitfold.explorer.statistics_schemas import BitStatistics
from bitfold.explorer.workspace import Workspace

RANDOM = np.random.default_rng(0).integers(0, 2, (1000, 24), np.uint8)


def describe(opened: OpenedModel, labels: np.ndarray | None = None) -> BitStatistics:
    sources = ItemSources()
    if labels is not None and opened.model.paths.index_path is not None:
        path = opened.model.paths.index_path.parent / "y.npy"
        np.save(path, labels)
        sources = ItemSources(label=str(path))
    return compute_statistics(opened.model, items_of(opened, sources))


def test_without_vectors_nothing_is_good(tmp_path: Path) -> None:
    found = describe(index_bits(tmp_path, RANDOM))
    assert found.verdict.grade == "unknown" and "no vectors" in found.verdict.text
    assert found.findings == [] and found.measured_with is None
    by_name = {measure.name: measure for measure in found.measures}
    assert by_name["recall_10"].value is None and by_name["recall_10"].grade == "none"
    assert "grade='good'" not in str(found.verdict)


def test_ties_and_labels_by_chance_are_poor(tmp_path: Path) -> None:
    assert describe(index_bits(tmp_path, RANDOM[:, :3])).verdict.grade == "poor"
    labels = np.arange(1000) % 5
    by_chance = describe(index_bits(tmp_path, RANDOM), labels)
    assert by_chance.verdict.grade == "poor" and "20%" in by_chance.verdict.text
    informed = RANDOM.copy()
    informed[:, :15] = np.repeat(np.eye(5, dtype=np.uint8)[labels], 3, axis=1)
    assert describe(index_bits(tmp_path, informed), labels).verdict.grade == "unknown"


def test_sizes_and_entropy(tmp_path: Path) -> None:
    bits = np.zeros((8, 4), np.uint8)
    bits[4:, 0] = 1
    bits[6:, 1] = 1
    found = describe(index_bits(tmp_path, bits))
    assert (found.n_distinct, found.entropy, found.max_entropy) == (3, 1.5, 3.0)
    assert [(each.low, each.n_buckets, each.n_items) for each in found.sizes] == [
        (1, 0, 0), (2, 2, 4), (4, 1, 4)
    ]  # fmt: skip
    assert found.bit_entropy == [1.0, 0.8113, 0.0, 0.0]
    assert found.largest[0].size == 4 and len(found.largest[0].items) == 4


def test_verdict_with_vectors_is_that_of_evaluate(workspace: Workspace) -> None:
    found = workspace.views[0].statistics()
    assert found is workspace.views[0].statistics()
    assert found.measured_with is not None and found.measured_with.n_queries == 59
    assert found.verdict.grade in ("good", "fair", "poor")
    measures = {measure.name: measure for measure in found.measures}
    assert 0.3 < (measures["recall_10"].value or 0) < 1
    names = [each.name for each in measures["precision_10"].references]
    assert names == ["exact vectors", "ITQ", "chance"]
