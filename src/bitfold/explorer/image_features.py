"""How an image becomes a vector: found by trial, since the codes of the items' images are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image

from bitfold._types import AnyArray, Float64Array, Int64Array, UInt8Array
from bitfold.explorer.decoding import InvalidImageError
from bitfold.explorer.images import ImageSource, flatten_image
from bitfold.features import color_gist, gist

_MIN_AGREEMENT = 0.98
"""Minimum fraction of bits that must equal those in the index."""

_N_TRIED_ITEMS = 32

_SCALES = {"pixels": 1.0, "pixels / 255": 1 / 255, "pixels × 16 / 255": 16 / 255}


@dataclass(frozen=True)
class ImageFeatures:
    """A function from images to vectors.

    Parameters
    ----------
    name
        Name on the page.
    size
        Width and height to which images are resized first.
    mode
        "L" for gray, "RGB" for color.
    describe
        Computes the vector from the pixels.
    scale
        Factor of the pixel values if the vector consists of pixels, otherwise 0.
    """

    name: str
    size: tuple[int, int]
    mode: str
    describe: Callable[[UInt8Array], AnyArray]
    scale: float = 0.0

    def draws(self, n_features: int) -> bool:
        """Return whether vectors of this length are pixels, which can be shown."""
        # A mode has one letter per channel.
        return self.scale > 0 and n_features == self.size[0] * self.size[1] * len(self.mode)

    def compute(self, image: Image.Image) -> Float64Array:
        """Return the vector of an image."""
        image = flatten_image(image).convert(self.mode)
        if image.size != self.size:
            image = image.resize(self.size, Image.Resampling.LANCZOS)
        return np.asarray(self.describe(np.asarray(image)), np.float64).ravel()

    def draw(self, vector: Float64Array) -> Image.Image:
        """Return a vector of pixels as an image."""
        if not self.scale:
            raise InvalidImageError(f"A vector of {self.name} cannot be shown as an image.")
        width, height = self.size
        pixels = np.clip(np.round(vector / self.scale), 0, 255).astype(np.uint8)
        return Image.fromarray(pixels.reshape(height, width, -1).squeeze())


def find_image_features(
    source: ImageSource,
    ids: Int64Array,
    agreement: Callable[[int, Float64Array], float],
    n_features: int,
) -> ImageFeatures | None:
    """Find the features that give images the codes stored in the index.

    Parameters
    ----------
    source
        Images of items.
    ids
        Items with images.
    agreement
        Returns the fraction of equal bits between the code of an item and of a vector.
    n_features
        Length of a vector.

    Returns
    -------
    ImageFeatures or None
        None if no known features fit.
    """
    chosen = ids[np.linspace(0, len(ids) - 1, min(len(ids), _N_TRIED_ITEMS)).astype(int)].tolist()
    images = []
    for item in chosen:
        try:
            images.append((item, source.load(item)))
        except (InvalidImageError, OSError):
            continue
    if not images:
        return None

    def score(features: ImageFeatures) -> float:
        return float(np.mean([agreement(item, features.compute(image)) for item, image in images]))

    # Uploads can be resized only if all images have the same size.
    sizes = {image.size for _, image in images}
    if len(sizes) != 1:
        return None
    scored = [(score(features), features) for features in _candidates(sizes.pop(), n_features)]
    best = max(scored, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= _MIN_AGREEMENT else None


def _candidates(size: tuple[int, int], n_features: int) -> list[ImageFeatures]:
    """Return the features that give vectors of the right length."""
    n_pixels = size[0] * size[1]
    found = []
    for mode, n_channels in (("L", 1), ("RGB", 3)):
        if n_pixels * n_channels == n_features:
            found += [
                ImageFeatures(name, size, mode, partial(np.multiply, scale), scale)
                for name, scale in _SCALES.items()
            ]
    side = size[0] if size[0] == size[1] and size[0] % 4 == 0 and size[0] >= 8 else 0
    if side and n_features == 512:
        found.append(ImageFeatures("GIST", size, "L", lambda pixels: gist(pixels[None])))
    if side and n_features == 960:
        found.append(
            ImageFeatures("color GIST", size, "RGB", lambda pixels: color_gist(pixels[None]))
        )
    return found
