"""How a picture becomes a vector: found by trying, since the items' pictures have known codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from bitfold._types import AnyArray, Float64Array, Int64Array, UInt8Array
from bitfold.explorer.images import Album, NoPicture, on_white
from bitfold.features import color_gist, gist

_AGREEING = 0.98
"""Share of the bits that must come out as in the index."""

_TRIED = 32
"""Items that are tried."""

_SCALES = {"pixels": 1.0, "pixels / 255": 1 / 255, "pixels × 16 / 255": 16 / 255}


@dataclass(frozen=True)
class Reading:
    """A way from a picture to a vector.

    Parameters
    ----------
    name
        What it is called on the page.
    size
        Width and height that pictures are brought to first.
    mode
        "L" for gray, "RGB" for color.
    describe
        From the pixels to the vector.
    scale
        What a byte is multiplied by, where the vector is the pixels; 0 where it is not.
    """

    name: str
    size: tuple[int, int]
    mode: str
    describe: Callable[[UInt8Array], AnyArray]
    scale: float = 0.0

    @property
    def n_features(self) -> int:
        """Width of a vector that is pixels."""
        # A mode has a letter for each channel.
        return self.size[0] * self.size[1] * len(self.mode)

    def vector(self, image: Image.Image) -> Float64Array:
        """Turn a picture into a vector."""
        picture = on_white(image).convert(self.mode)
        if picture.size != self.size:
            picture = picture.resize(self.size, Image.Resampling.LANCZOS)
        return np.asarray(self.describe(np.asarray(picture)), np.float64).ravel()

    def draw(self, vector: Float64Array) -> Image.Image:
        """Turn a vector that is pixels back into a picture."""
        if not self.scale:
            raise NoPicture(f"vector must be pixels to be drawn, got {self.name}.")
        width, height = self.size
        pixels = np.clip(np.round(vector / self.scale), 0, 255).astype(np.uint8)
        return Image.fromarray(pixels.reshape(height, width, -1).squeeze())


def find_reading(
    album: Album, ids: Int64Array, agreement: Callable[[int, Float64Array], float], n_features: int
) -> Reading | None:
    """Find the reading under which pictures get the codes that the index has; None if none does.

    Parameters
    ----------
    album
        Pictures of items.
    ids
        Items with pictures.
    agreement
        Share of the bits of an item's code that a vector's code has too.
    n_features
        Width of a vector.
    """
    chosen = ids[np.linspace(0, len(ids) - 1, min(len(ids), _TRIED)).astype(int)].tolist()
    images = []
    for item in chosen:
        try:
            images.append((item, album.load(item)))
        except (NoPicture, OSError):
            continue
    if not images:
        return None

    def score(reading: Reading) -> float:
        return float(np.mean([agreement(item, reading.vector(image)) for item, image in images]))

    # Only pictures of one size have one obvious size to bring others to.
    sizes = {image.size for _, image in images}
    if len(sizes) != 1:
        return None
    scored = [(score(reading), reading) for reading in _candidates(sizes.pop(), n_features)]
    best = max(scored, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= _AGREEING else None


def _candidates(size: tuple[int, int], n_features: int) -> list[Reading]:
    """Return the readings that give vectors of the right width."""
    n_pixels = size[0] * size[1]
    found = []
    for mode, n_channels in (("L", 1), ("RGB", 3)):
        if n_pixels * n_channels == n_features:
            found += [
                Reading(name, size, mode, _scaled(scale), scale) for name, scale in _SCALES.items()
            ]
    side = size[0] if size[0] == size[1] and size[0] % 4 == 0 and size[0] >= 8 else 0
    if side and n_features == 512:
        found.append(Reading("GIST", size, "L", lambda pixels: gist(pixels[None])))
    if side and n_features == 960:
        found.append(Reading("color GIST", size, "RGB", lambda pixels: color_gist(pixels[None])))
    return found


def _scaled(scale: float) -> Callable[[UInt8Array], AnyArray]:
    return lambda pixels: pixels * scale
