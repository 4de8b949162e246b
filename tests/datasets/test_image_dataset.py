"""Data sets built from images: features, names, cache."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from bitfold import datasets
from bitfold.errors import ParameterError
from bitfold.features import color_gist, gist

# The function of the same name hides the module.
module = importlib.import_module("bitfold.datasets.image_dataset")

RNG = np.random.default_rng(0)
N = 24
IMAGES = RNG.integers(0, 256, (N, 32, 32, 3)).astype(np.uint8)
LABELS = np.arange(N)


def test_features_and_names() -> None:
    gray = np.array([np.asarray(Image.fromarray(image).convert("L")) for image in IMAGES])
    expected: dict[str, NDArray[Any]] = {
        "gist512": gist(gray),
        "gist960": color_gist(IMAGES),
        "pixels": IMAGES.reshape(N, -1),
    }
    for features, X in expected.items():
        data = datasets.image_dataset(IMAGES, LABELS, 5, 3, features=features, name="mine")
        assert data.name == f"mine {features}"
        assert np.allclose(data.database, X[data.labels], atol=1e-5)
        assert np.allclose(data.queries, X[data.query_labels], atol=1e-5)


def test_unknown_features_are_rejected() -> None:
    with pytest.raises(ParameterError, match="'gist512', 'gist960', 'pixels', got 'sift'"):
        datasets.image_dataset(IMAGES, LABELS, 5, features="sift")


def test_descriptors_are_cached_by_content_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []

    def describe(images: NDArray[np.uint8]) -> Any:
        computed.append(len(images))
        return color_gist(images)

    def load(images: NDArray[np.uint8] = IMAGES) -> NDArray[Any]:
        return datasets.image_dataset(images, LABELS, 5, features="gist960").database

    monkeypatch.setitem(module._DESCRIPTORS, "gist960", (describe, 960))
    monkeypatch.setattr(module, "_IMAGES_PER_BLOCK", 20)
    first = load()
    assert np.array_equal(load(), first)
    assert computed == [20, 4]
    monkeypatch.setattr(module, "GIST_VERSION", "other")
    load()
    assert computed == [20, 4] * 2
    load(255 - IMAGES)
    assert computed == [20, 4] * 3


def test_progress_is_reported() -> None:
    reports: list[tuple[str, int, int]] = []
    datasets.image_dataset(IMAGES, LABELS, 5, progress=lambda *x: reports.append(x))
    assert reports == [("GIST", N, N)]
