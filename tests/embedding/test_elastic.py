"""The elastic embedding: its scale."""

from __future__ import annotations

import numpy as np
from tests.embedding.conftest import float32_cloud as cloud

from bitfold.embedding import ElasticEmbedding


def test_strength_determines_the_scale() -> None:
    sizes = [
        np.abs(ElasticEmbedding(strength=strength).embed(cloud(50), 16, rng=0)).mean()
        for strength in (0.5, 5.0, 50.0)
    ]
    assert sizes == sorted(sizes)
