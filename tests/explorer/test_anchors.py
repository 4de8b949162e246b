"""Anchors of the map: of many, only some are placed by t-SNE."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bitfold.embedding import TSNE
from bitfold.explorer import anchors


def test_many_points_are_placed_by_induction_from_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 60)
    points = (10 * np.eye(3, 6)[group] + rng.normal(size=(180, 6))).astype(np.float32)
    placed: list[int] = []

    class Counted(TSNE):
        def embed(self, base: Any, n_components: int, **options: Any) -> Any:
            placed.append(len(base))
            return super().embed(base, n_components, **options)

    monkeypatch.setattr(anchors, "TSNE", Counted)
    monkeypatch.setattr(anchors, "N_ANCHORS", 45)
    positions = anchors.embed_anchors(points, lambda done, total: None)
    assert placed == [45]
    centers = np.stack([positions[group == i].mean(axis=0) for i in range(3)])
    nearest = np.linalg.norm(positions[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == group).all()
