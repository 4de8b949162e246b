"""Arrays and images in records and files."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image
from reproduction.image_encoding import (
    decode_array,
    encode_array,
    encode_photos,
    reduce_colors,
    reduce_inline_colors,
)


def test_arrays_survive_json() -> None:
    array = np.arange(12, dtype=np.uint16).reshape(3, 4)
    np.testing.assert_array_equal(decode_array(encode_array(array)), array)


def test_photos_survive_json_approximately() -> None:
    # Smooth, and each of another brightness: mixed-up tiles would differ by far more.
    shade = np.linspace(0, 40, 32)[:, None, None] + 20 * np.arange(8).reshape(2, 4, 1, 1, 1)
    tiles = np.broadcast_to(shade, (2, 4, 32, 32, 3)).astype(np.uint8)
    encoded = json.loads(json.dumps(encode_photos(tiles)))
    assert len(encoded["jpeg"]) < tiles.size / 4
    assert np.abs(decode_array(encoded).astype(int) - tiles).max() < 8


@pytest.mark.parametrize("transparent", [False, True])
def test_fewer_colors_are_smaller_and_similar(transparent: bool) -> None:
    y, x = np.mgrid[:128, :128]
    noise = np.random.default_rng(0).integers(0, 8, (128, 128))
    image = np.stack([x + noise, y + noise, x, np.full_like(x, 255)], axis=2).astype(np.uint8)
    image[:32, :32, 3] = 0 if transparent else 255
    png = io.BytesIO()
    Image.fromarray(image).save(png, "PNG")
    reduced = reduce_colors(png.getvalue())
    assert len(reduced) < 0.6 * len(png.getvalue())
    found = np.asarray(Image.open(io.BytesIO(reduced)).convert("RGBA")).astype(int)
    assert (found[:, :, 3] == image[:, :, 3]).all()
    visible = image[:, :, 3] > 0
    assert np.abs(found - image)[visible].mean() < 8
    inline = b'<image href="data:image/png;base64,%s"/>' % base64.b64encode(png.getvalue())
    assert reduce_inline_colors(inline).split(b",")[1] == base64.b64encode(reduced) + b'"/>'
