"""The features that turn images into vectors are found by trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from bitfold.explorer.image_features import ImageFeatures, find_image_features
from bitfold.explorer.images import ImageArray
from bitfold.features import gist
from bitfold.hashers import LSH

N = 60
Pixels = NDArray[np.uint8]


def photos(*shape: int) -> Pixels:
    """Return random images whose adjacent pixels are equal, as they nearly are in photos."""
    coarse = np.random.default_rng(0).integers(0, 256, (N, 8, 8, *shape[2:]), np.uint8)
    return np.repeat(np.repeat(coarse, shape[0] // 8, 1), shape[1] // 8, 2)


def gray(pixels: Pixels) -> Pixels:
    return np.stack([np.asarray(Image.fromarray(each).convert("L")) for each in pixels])


def found(pixels: Pixels, vectors: NDArray[Any]) -> ImageFeatures | None:
    hasher = LSH(64, random_state=0).fit(vectors)
    bits = hasher.transform(vectors)

    def agreement(item: int, vector: NDArray[Any]) -> float:
        return float(np.mean(hasher.transform(vector[None])[0] == bits[item]))

    return find_image_features(ImageArray(pixels), np.arange(N), agreement, vectors.shape[1])


WAYS: dict[str, tuple[Pixels, Callable[[Pixels], NDArray[Any]]]] = {
    "pixels": (photos(8, 16), lambda pixels: pixels.reshape(N, -1)),
    "pixels / 255": (photos(8, 8, 3), lambda pixels: pixels.reshape(N, -1) / 255),
    "pixels × 16 / 255": (photos(8, 8), lambda pixels: pixels.reshape(N, -1) * (16 / 255)),
    "GIST": (photos(16, 16, 3), lambda pixels: gist(gray(pixels))),
}


@pytest.mark.parametrize("name", WAYS)
def test_features_that_give_the_codes_are_found(name: str) -> None:
    pixels, describe = WAYS[name]
    vectors = describe(pixels)
    reading = found(pixels, vectors)
    assert reading is not None and reading.name == name
    np.testing.assert_allclose(reading.compute(Image.fromarray(pixels[3])), vectors[3], atol=1e-5)
    # Images of any other size become vectors as well.
    assert len(reading.compute(Image.new("RGBA", (50, 70)))) == vectors.shape[1]
    if reading.scale:
        np.testing.assert_array_equal(reading.draw(vectors[3].astype(float)), pixels[3])


def test_unknown_features_are_not_found() -> None:
    pixels = photos(8, 8)
    strange = np.random.default_rng(1).normal(size=(N, 64))
    assert found(pixels, strange) is None
    assert found(pixels, strange[:, :10]) is None
